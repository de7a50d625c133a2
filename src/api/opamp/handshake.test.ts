import { expect, it } from "vitest";
import { acceptance, judgeHandshake } from "./handshake.ts";

const headers = {
  upgrade: "WebSocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};

it("the example of RFC 6455 is accepted, with no extension", () => {
  expect(judgeHandshake({ method: "GET", headers })).toEqual({ key: headers["sec-websocket-key"] });
  const answer = acceptance(headers["sec-websocket-key"]);
  expect(answer).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
  expect(answer).not.toContain("Extensions");
});

it.each([
  ["another method", { method: "POST", headers }, 405],
  ["another protocol", { method: "GET", headers: { ...headers, upgrade: "h2c" } }, 400],
  ["no key", { method: "GET", headers: { upgrade: "websocket", "sec-websocket-version": "13" } }, 400],
  ["a short key", { method: "GET", headers: { ...headers, "sec-websocket-key": "abc=" } }, 400],
  ["another version", { method: "GET", headers: { ...headers, "sec-websocket-version": "8" } }, 426],
] as const)("%s is refused with what would be accepted", (_, request, status) => {
  expect(judgeHandshake(request)).toMatchObject({ status });
});
