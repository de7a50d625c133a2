import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Pool } from "../store/database.ts";
import type { ArtifactSource } from "./artifact-source.ts";
import { createStaging, type Staging } from "./artifact-staging.ts";

const BYTES = randomBytes(100_000);
const SHA256 = createHash("sha256").update(BYTES).digest("hex");
let folder: string;
let staging: Staging;
let asked: ({ offset: number; validator: string } | undefined)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-staging-"));
  asked = [];
  // downloads touch no row: placing them does, and is held by the integration tests
  staging = createStaging({ folder, holder: "h", pool: undefined as unknown as Pool, maxBytes: 200_000 });
});
afterEach(() => rm(folder, { recursive: true }));

type Answer = { cutAfter?: number; validator?: string | undefined; resumes?: boolean; bytes?: Buffer; size?: number };
/** Answers one download after the other. */
function source(...answers: Answer[]): ArtifactSource {
  return {
    readSmall: () => Promise.reject(new Error("not asked for")),
    close: async () => undefined,
    open: async (_, resume) => {
      asked.push(resume);
      const { cutAfter = Infinity, validator, resumes = true, bytes = BYTES, size } = answers.shift() ?? {};
      const offset = resumes && resume !== undefined && resume.validator === validator ? resume.offset : 0;
      const until = Math.min(bytes.length, cutAfter);
      const pieces = (function* () {
        for (let at = offset; at < until; at += 10_000) yield bytes.subarray(at, Math.min(until, at + 10_000));
        if (until < bytes.length) throw new Error("cut");
      })();
      return { offset, size: size ?? bytes.length, validator, body: Readable.from(pieces, { objectMode: false }) };
    },
  };
}
const download = (from: ArtifactSource) =>
  staging.download("id", "https://x/a", from, () => undefined, new AbortController().signal);
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: { code: string }) => error.code,
  );
const partials = async (): Promise<string[]> =>
  (await readdir(join(folder, "partial"))).filter((name) => !name.endsWith(".json"));

describe("a download to staging", () => {
  test("that is cut goes on where it was, and ends in the right bytes", async () => {
    const from = source(
      { cutAfter: 40_000, validator: "v1" },
      { cutAfter: 70_000, validator: "v1" },
      { validator: "v1" },
    );
    expect([await code(download(from)), await code(download(from))]).toEqual([
      "artifact_unreachable",
      "artifact_unreachable",
    ]);
    expect(await download(from)).toMatchObject({ sha256: SHA256, sizeBytes: BYTES.length });
    expect(asked.map((resume) => resume?.offset)).toEqual([undefined, 40_000, 70_000]);
    expect(await partials()).toHaveLength(1);
  });
  test.each<[string, Answer]>([
    ["whose content changed meanwhile", { validator: "v2" }],
    ["whose source does not resume", { validator: "v1", resumes: false }],
    ["whose content became shorter", { validator: "v2", bytes: BYTES.subarray(0, 30_000) }],
  ])("%s begins anew", async (_, second) => {
    const from = source({ cutAfter: 40_000, validator: "v1" }, second);
    await code(download(from));
    const bytes = second.bytes ?? BYTES;
    expect(await download(from)).toMatchObject({
      sha256: createHash("sha256").update(bytes).digest("hex"),
      sizeBytes: bytes.length,
    });
  });
  test("without anything to recognize the content by begins anew each time", async () => {
    const from = source({ cutAfter: 40_000 }, {});
    await code(download(from));
    expect(await download(from)).toMatchObject({ sha256: SHA256 });
    expect(asked).toEqual([undefined, undefined]);
  });
  test.each<[string, Answer, string]>([
    ["that says it is too large", { size: 200_001 }, "artifact_too_large"],
    ["that is too large and does not say so", { bytes: Buffer.alloc(200_001), size: 1 }, "artifact_too_large"],
    ["that ends before its length", { size: 100_001 }, "artifact_unreachable"],
  ])("%s is refused", async (_, answer, expected) => {
    expect(await code(download(source(answer)))).toBe(expected);
    if (expected === "artifact_too_large") expect(await partials()).toEqual([]);
  });
  test("of what does not exist leaves nothing", async () => {
    const absent: ArtifactSource = { ...source(), open: async () => undefined };
    expect(await download(absent)).toBeUndefined();
    expect(await partials()).toEqual([]);
  });
  test("that is of no use is removed", async () => {
    const downloaded = await download(source({ validator: "v1" }));
    if (downloaded) await staging.discard(downloaded);
    expect(await readdir(join(folder, "partial"))).toEqual([]);
  });
});
