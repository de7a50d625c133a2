/**
 * Git servers that do as a test says, over the three transports that need one: SSH (ssh2), HTTPS (git's own http-backend),
 * and git's protocol. Each hands the connection to the system's git, or breaks it where the test wants.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import ssh2 from "ssh2";

/** `serve`; or send `afterBytes` of the answer and then close the connection, or nothing more. */
export type Behaviour =
  | { kind: "serve" }
  | { kind: "cut"; afterBytes: number }
  | { kind: "silent"; afterBytes: number };
export type GitServer = {
  url: string;
  port: number;
  behave: (next: Behaviour) => void;
  /** How often a client came so far. */
  visits: () => number;
  /** Resolves when a client has been left without an answer. */
  stalled: () => Promise<void>;
  close: () => Promise<void>;
};

const ENV = { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
// the tests' repositories may belong to another account
const GIT = ["-c", "safe.directory=*"];

type Control = Pick<GitServer, "behave" | "visits" | "stalled"> & {
  /** The client's side of a `git upload-pack`. */
  serve(client: Duplex, cut: () => void): ChildProcess;
  visit(): void;
  /** What the next answer does; waits are told. */
  passes(sent: number, chunk: Buffer, cut: () => void): Buffer | undefined;
};

function createControl(bare: string): Control {
  let behaviour: Behaviour = { kind: "serve" };
  let visits = 0;
  let tell: () => void = () => undefined;
  let stall = new Promise<void>((resolve) => (tell = resolve));
  const passes: Control["passes"] = (sent, chunk, cut) => {
    if (behaviour.kind === "serve") return chunk;
    const left = Math.max(0, behaviour.afterBytes - sent);
    if (chunk.length <= left) return chunk;
    if (behaviour.kind === "cut") setImmediate(cut);
    else tell();
    return chunk.subarray(0, left);
  };
  return {
    behave: (next) => {
      behaviour = next;
      stall = new Promise<void>((resolve) => (tell = resolve));
    },
    visits: () => visits,
    visit: () => void (visits += 1),
    stalled: () => stall,
    passes,
    serve: (client, cut) => {
      const git = spawn("git", [...GIT, "upload-pack", bare], { env: ENV, stdio: ["pipe", "pipe", "ignore"] });
      let sent = 0;
      client.pipe(git.stdin);
      git.stdin.on("error", () => undefined); // git ended first
      git.stdout.on("data", (chunk: Buffer) => {
        const passed = passes(sent, chunk, cut);
        sent += chunk.length;
        if (passed !== undefined && passed.length > 0) client.write(passed);
      });
      client.on("error", () => git.kill("SIGKILL"));
      client.on("close", () => git.kill("SIGKILL"));
      return git;
    },
  };
}

const listen = async (server: Server): Promise<number> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};
/** Ends the listener and whoever is connected. */
function closer(server: Server): { close: () => Promise<void> } {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** `git://`: no credential, no encryption. */
export async function createPlainGitServer(bare: string): Promise<GitServer> {
  const control = createControl(bare);
  const server = createServer((socket) => {
    control.visit();
    // the request is one packet, but not one chunk: its length, then command, path and host
    let request = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      request = Buffer.concat([request, chunk]);
      const length = Number.parseInt(request.toString("latin1", 0, 4), 16);
      if (request.length < 4 || request.length < length) return;
      socket.off("data", read);
      const git = control.serve(socket, () => socket.destroy());
      git.once("close", () => socket.end());
    };
    socket.on("data", read);
  });
  const { close } = closer(server);
  const port = await listen(server);
  return { ...control, url: `git://127.0.0.1:${port}/x.git`, port, close };
}

export type SshGitServer = GitServer & {
  /** A line for a known_hosts file. */
  knownHost(): string;
  /** A new key pair of the server, as after a reinstallation. */
  changeHostKey(): Promise<void>;
  /** The public key that may read. */
  allow(publicKey: string): void;
};

export const createSshKey = (): { private: string; public: string } => ssh2.utils.generateKeyPairSync("ed25519");

/** `ssh://git@…`: runs `git upload-pack`, and nothing else. */
export async function createSshGitServer(bare: string): Promise<SshGitServer> {
  const control = createControl(bare);
  let allowed = "";
  let hostKey = createSshKey();
  let listener = await startSsh(0);

  async function startSsh(port: number): Promise<{ port: number; close(): Promise<void> }> {
    const sockets = new Set<ssh2.Connection>();
    const server = new ssh2.Server({ hostKeys: [hostKey.private] }, (client) => {
      sockets.add(client);
      client.on("error", () => undefined); // a client that does not trust us hangs up
      client.on("close", () => sockets.delete(client));
      client.on("authentication", (context) => (isAllowed(context) ? context.accept() : context.reject(["publickey"])));
      client.on("session", (acceptSession) => {
        const session = acceptSession();
        session.on("env", (accept) => accept?.());
        session.on("exec", (acceptExec, refuse, { command }) => {
          if (!/^git-upload-pack '[^']*'$/.test(command)) return refuse();
          control.visit();
          const stream = acceptExec();
          const git = control.serve(stream, () => client.end());
          git.once("close", (code) => {
            stream.exit(code ?? 1);
            stream.end();
          });
        });
      });
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return {
      port: (server.address() as AddressInfo).port,
      close: async () => {
        for (const client of sockets) client.end();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    };
  }

  function isAllowed(context: ssh2.AuthContext): boolean {
    if (context.method !== "publickey" || allowed === "") return false;
    const key = ssh2.utils.parseKey(allowed);
    if (key instanceof Error) throw key;
    if (context.key.algo !== key.type || !context.key.data.equals(key.getPublicSSH())) return false;
    // the first question has no signature: would this key do?
    return (
      context.signature === undefined ||
      (context.blob !== undefined && key.verify(context.blob, context.signature, context.hashAlgo))
    );
  }

  const { port } = listener;
  return {
    ...control,
    port,
    url: `ssh://git@127.0.0.1:${port}/x.git`,
    knownHost: () => `[127.0.0.1]:${port} ${hostKey.public.split(" ").slice(0, 2).join(" ")}\n`,
    allow: (publicKey) => void (allowed = publicKey),
    changeHostKey: async () => {
      await listener.close();
      hostKey = createSshKey();
      listener = await startSsh(port);
    },
    close: () => listener.close(),
  };
}

export type HttpsGitServer = GitServer & {
  /** The certificate authority that a client has to trust. */
  caFile: string;
  /** The `Authorization` header that may read. */
  allow(authorization: string | undefined): void;
  /** What every request is answered, instead of Git. */
  answer(next: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void;
  /** `Authorization` headers as they came, in order. */
  authorizations(): (string | undefined)[];
};

/** `https://`: git's own http-backend behind node's TLS. */
export async function createHttpsGitServer(bare: string): Promise<HttpsGitServer> {
  const control = createControl(bare);
  const folder = await mkdtemp(join(tmpdir(), "myriarch-https-"));
  const { key, cert, caFile } = await makeCertificate(folder);
  let allowed: string | undefined;
  let instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  const came: (string | undefined)[] = [];
  const server = createHttps({ key, cert }, (request, response) => {
    control.visit();
    came.push(request.headers.authorization);
    if (instead !== undefined) return instead(request, response);
    if (allowed !== undefined && request.headers.authorization !== allowed)
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    return runBackend(bare, request, response, control);
  });
  const { close } = closer(server);
  const port = await listen(server);
  return {
    ...control,
    port,
    url: `https://127.0.0.1:${port}/x.git`,
    caFile,
    allow: (authorization) => void (allowed = authorization),
    answer: (next) => void (instead = next),
    authorizations: () => came,
    close: async () => {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function runBackend(bare: string, request: IncomingMessage, response: ServerResponse, control: Control): void {
  const { pathname, search } = new URL(request.url ?? "/", "https://x");
  const git = spawn("git", [...GIT, "http-backend"], {
    stdio: ["pipe", "pipe", "ignore"],
    env: {
      ...ENV,
      GIT_PROJECT_ROOT: bare,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathname.replace(/^\/x\.git/, ""),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
  });
  git.stdin.on("error", () => undefined); // git ended first
  request.pipe(git.stdin);
  let head: Buffer | undefined = Buffer.alloc(0);
  let sent = 0;
  const pass = (chunk: Buffer): void => {
    const passed = control.passes(sent, chunk, () => response.destroy());
    sent += chunk.length;
    if (passed !== undefined && passed.length > 0) response.write(passed);
  };
  git.stdout.on("data", (chunk: Buffer) => {
    if (head === undefined) return pass(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    for (const line of head.toString("latin1", 0, end).split("\r\n")) {
      const [, name = "", value = ""] = /^([^:]+): *(.*)$/.exec(line) ?? [];
      if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    const rest = head.subarray(end + 4);
    head = undefined;
    return rest.length > 0 ? pass(rest) : undefined;
  });
  git.once("close", () => response.end());
  response.on("close", () => git.kill("SIGKILL"));
}

/** A certificate authority of this test, and a certificate of 127.0.0.1 by it. */
async function makeCertificate(folder: string): Promise<{ key: Buffer; cert: Buffer; caFile: string }> {
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await writeFile(at("leaf.ext"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n");
  openssl("req", "-x509", ...ec, "-days", "2", "-subj", "/CN=Test CA", "-keyout", at("ca.key"), "-out", at("ca.pem"));
  openssl("req", ...ec, "-subj", "/CN=127.0.0.1", "-keyout", at("leaf.key"), "-out", at("leaf.csr"));
  const by = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"];
  openssl(
    "x509",
    "-req",
    "-in",
    at("leaf.csr"),
    ...by,
    "-days",
    "2",
    "-extfile",
    at("leaf.ext"),
    "-out",
    at("leaf.pem"),
  );
  return { key: await readFile(at("leaf.key")), cert: await readFile(at("leaf.pem")), caFile: at("ca.pem") };
}
