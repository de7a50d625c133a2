/** Rows of artifacts and depots as fetches and executions leave them, for tests of what stays and what leaves. */
import { admitArtifact, artifactFetched, openArtifact } from "../../src/store/artifacts.ts";
import { transaction, type Pool } from "../../src/store/database.ts";
import { depotAnswered, openExecution, readWantedSet, registerDepot } from "../../src/store/depots.ts";
import { digest } from "./depot.ts";

const PROVED = { identity: "i@refs/tags/v1", issuer: "o", repository: "r", logIndex: "1", signedAt: [] };

/** A verified artifact of otelcol-contrib, wanted since `at`. */
export async function givenArtifact(
  pool: Pool,
  version: string,
  content: string,
  { at = new Date(), arch = "amd64" }: { at?: Date; arch?: string } = {},
): Promise<{ id: string; sha256: string }> {
  const ref = { distribution: "otelcol-contrib", version, os: "linux", arch };
  const sha256 = digest(Buffer.from(content));
  const { id } = await openArtifact(pool, ref, { fileName: `${version}.tar.gz`, sourceUrl: "file:///x" });
  await artifactFetched(pool, id, { sha256, sizeBytes: content.length, checksum: sha256, bundle: "{}" });
  await transaction(pool, (tx) => admitArtifact(tx, id, PROVED, at));
  return { id, sha256 };
}

/** Registers depots and lets each list these digests, on its two disks, in an execution at the present generation. */
export async function givenListing(
  pool: Pool,
  execution: string,
  nodes: Readonly<Record<string, readonly string[]>>,
  disks = 2,
): Promise<void> {
  const { epoch, generation } = await readWantedSet(pool);
  await openExecution(pool, { id: execution, cause: "test", epoch, generation });
  for (const [nodeId, digests] of Object.entries(nodes)) {
    const url = `http://${nodeId}.example`;
    await registerDepot(pool, { nodeId, zone: "", controlUrl: url, readUrl: url });
    const copies = digests.map((sha256) => ({ sha256, disks }));
    const said = {
      execution,
      generation,
      copies,
      disks: ["/a", "/b"].map((path) => ({ path, state: "ok", freeBytes: 1_000 })),
    };
    await transaction(pool, (tx) => depotAnswered(tx, nodeId, said));
  }
}
