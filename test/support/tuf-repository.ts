/**
 * A TUF repository that signs itself and serves its files over loopback. One key has all roles, which is enough for a
 * client: what it verifies are versions, hashes, signatures and expiry.
 */
import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Key, Metadata, MetaFile, Root, Signature, Snapshot, TargetFile, Targets, Timestamp } from "@tufjs/models";

const SPEC = "1.0.31";
const ROLES = ["root", "timestamp", "snapshot", "targets"];
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");

/** What a request gets: its file, a status, or nothing at all. */
export type Mood = "serves" | "fails" | "hangs";

export type TufRepository = {
  url: string;
  /** The first `root.json`. */
  root: Buffer;
  /** Paths that were asked for. */
  requests: string[];
  mood: Mood;
  /** Called after each answer. */
  answered: (path: string) => void;
  close(): Promise<void>;
};

/** Publishes `trusted_root.json`; its metadata but the root expires `expiresInDays` from now. */
export async function serveTufRepository(trustedRoot: string, expiresInDays = 7): Promise<TufRepository> {
  const files = publish(Buffer.from(trustedRoot), days(expiresInDays));
  const requests: string[] = [];
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const bytes = files.get(path);
    if (repository.mood === "hangs") held.push(response);
    else if (repository.mood === "fails") response.writeHead(500).end();
    else if (bytes === undefined) response.writeHead(404).end();
    else response.writeHead(200).end(bytes);
    repository.answered(path);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const repository: TufRepository = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    root: files.get("/1.root.json") ?? Buffer.alloc(0),
    requests,
    mood: "serves",
    answered: () => undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return repository;
}

/** All files by the path that clients ask for. */
function publish(target: Buffer, expires: string): Map<string, Buffer> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const common = { version: 1, specVersion: SPEC, expires };
  const root = new Root({ ...common, expires: days(365), consistentSnapshot: true });
  const keyID = sha256(Buffer.from(randomUUID()));
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const key = new Key({ keyID, keyType: "ed25519", scheme: "ed25519", keyVal: { public: pem } });
  for (const role of ROLES) root.addKey(key, role);
  const hash = sha256(target);
  const entry = new TargetFile({ path: "trusted_root.json", length: target.length, hashes: { sha256: hash } });
  const targets = new Targets({ ...common, targets: { "trusted_root.json": entry } });
  const snapshot = new Snapshot({ ...common, meta: { "targets.json": new MetaFile({ version: 1 }) } });
  const timestamp = new Timestamp({ ...common, snapshotMeta: new MetaFile({ version: 1 }) });
  const signed = (content: Root | Targets | Snapshot | Timestamp) => serialize(content, keyID, privateKey);
  return new Map([
    ["/1.root.json", signed(root)],
    ["/timestamp.json", signed(timestamp)],
    ["/1.snapshot.json", signed(snapshot)],
    ["/1.targets.json", signed(targets)],
    [`/targets/${hash}.trusted_root.json`, target],
  ]);
}

function serialize(content: Root | Targets | Snapshot | Timestamp, keyID: string, key: KeyObject): Buffer {
  const metadata = new Metadata(content);
  metadata.sign((data) => new Signature({ keyID, sig: sign(undefined, data, key).toString("hex") }));
  return Buffer.from(JSON.stringify(metadata.toJSON()));
}
