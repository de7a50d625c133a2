/** A program of ours for tests of `startProgram`: serves health, says ready on standard output, ends on TERM. */
import { createServer } from "node:http";

const [, mode] = process.argv.slice(2);
if (mode === "fail") throw new Error("cannot go on");
const server = createServer((_, response) => response.end("ok"));
if (mode !== "stubborn") process.once("SIGTERM", () => server.close());
else process.on("SIGTERM", () => console.log("no"));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log("listening soon");
  if (typeof address === "object" && address !== null)
    console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${address.port}` }));
});
