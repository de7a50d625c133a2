import { createHash, randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveTufRepository } from "../../test/support/tuf-repository.ts";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { openSigningAuthority, type SigningAuthority } from "../signing/authority.ts";
import { RELEASE_REPOSITORY, type SignOptions, type SigningDefect } from "../signing/sign-bundle.ts";
import { loadTrustedRoot, parseTrustedRoot, type IdentityRule } from "./policy.ts";
import { readSignature, verifyArtifactSignature, type SignatureVerdict } from "./signature.ts";
import { runVerifyBundle } from "./verify-bundle.ts";

const VERSION = `0.${randomInt(100, 999)}.${randomInt(0, 20)}`;
const TAG = `v${VERSION}`;
const DIGEST = createHash("sha256").update("the archive").digest("hex");
const WORKFLOW = `${RELEASE_REPOSITORY}/.github/workflows/base-release.yaml`;

let folder: string;
let authority: SigningAuthority;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-verify-"));
  authority = await openSigningAuthority(join(folder, "authority"));
});
afterAll(() => rm(folder, { recursive: true }));

const sign = (options: Partial<SignOptions> = {}, by = authority) =>
  by.signFile(`sha256:${DIGEST}`, { tag: TAG, ...options });

type Judged = { required?: boolean; version?: string; sha256Hex?: string; identity?: IdentityRule; root?: string };

function judge(raw: Uint8Array, judged: Judged = {}): SignatureVerdict {
  return verifyArtifactSignature({
    signature: readSignature(raw),
    sha256Hex: judged.sha256Hex ?? DIGEST,
    policy: {
      trust: parseTrustedRoot(judged.root ?? authority.trustedRoot()),
      identity: judged.identity ?? { pattern: CONTRACT_DEFAULTS.identityPattern },
      issuer: CONTRACT_DEFAULTS.oidcIssuer,
    },
    version: judged.version ?? VERSION,
    required: judged.required ?? true,
  });
}

function codeOf(raw: Uint8Array, judged: Judged = {}): ErrorCode | SignatureVerdict["kind"] {
  try {
    return judge(raw, judged).kind;
  } catch (error) {
    return (error as { code: ErrorCode }).code;
  }
}

describe("freshly signed archives", () => {
  it.each(["rekor1", "rekor1-timestamp", "rekor1-without-promise", "rekor2-timestamp", "chain"] as const)(
    "are accepted in the form %s, with their identity and their times",
    async (form) => {
      const verdict = judge(await sign({ form }));
      expect(verdict).toMatchObject({
        kind: "verified",
        identity: `${WORKFLOW}@refs/tags/${TAG}`,
        issuer: CONTRACT_DEFAULTS.oidcIssuer,
        repository: RELEASE_REPOSITORY,
        logIndex: expect.stringMatching(/^\d+$/) as string,
      });
      const times = verdict.kind === "verified" ? verdict.signedAt : [];
      expect(times).toHaveLength(form === "rekor1-timestamp" ? 2 : 1);
      for (const time of times) expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
    },
  );

  it("verify again and again: signatures with a high S are as good as others", async () => {
    for (let round = 0; round < 12; round += 1) expect(codeOf(await sign({ form: "rekor1" }))).toBe("verified");
  });
});

/** One row per defect: a new defect does not compile until the rule that refuses it is named here. */
const REFUSED: Record<SigningDefect, ErrorCode> = {
  "other-bytes": "bundle_digest_mismatch",
  "rewritten-digest": "bundle_untrusted",
  "other-issuer": "issuer_mismatch",
  "foreign-caller": "identity_repository_mismatch",
  "no-source-repository": "identity_repository_mismatch",
  "no-certificate-timestamp": "bundle_no_certificate_timestamp",
  "no-log-entry": "bundle_no_log_entry",
  "no-time": "bundle_no_timestamp",
  "time-after-expiry": "bundle_untrusted",
  "log-names-other-certificate": "bundle_entry_mismatch",
  "duplicate-log-entry": "bundle_untrusted",
  "unknown-log": "bundle_untrusted",
  "other-root": "bundle_untrusted",
  attestation: "bundle_not_message_signature",
  "bare-key": "bundle_no_certificate",
  "unknown-media-type": "bundle_malformed",
  "garbage-certificate": "bundle_malformed",
  "copied-timestamps": "bundle_oversized",
  legacy: "signature_legacy",
  empty: "signature_missing",
};

describe("a signature with one defect", () => {
  it.each(Object.entries(REFUSED) as [SigningDefect, ErrorCode][])("%s is refused as %s", async (defect, code) => {
    expect(codeOf(await sign({ defect }))).toBe(code);
  });

  it.each(["log-names-other-certificate", "no-time"] as const)(
    "%s is refused in a second-generation log too",
    async (defect) => {
      expect(codeOf(await sign({ defect, form: "rekor2-timestamp" }))).toBe(REFUSED[defect]);
    },
  );

  it("is refused as well where a signature is not required; only an absent one passes", async () => {
    for (const [defect, code] of Object.entries(REFUSED) as [SigningDefect, ErrorCode][])
      expect(codeOf(await sign({ defect }), { required: false })).toBe(defect === "empty" ? "unsigned" : code);
  });

  it("says in the legacy case what the contract says", async () => {
    const legacy = await sign({ defect: "legacy" });
    expect(() => judge(legacy)).toThrow("legacy signature format not supported (needs online Rekor)");
  });
});

describe("whose signature it is", () => {
  it.each([
    ["a nightly build", { tag: `${TAG}-nightly.1` }, "identity_mismatch"],
    ["another release", { tag: "v0.1.0" }, "identity_version_mismatch"],
    ["a tag that the version is a prefix of", { tag: `${TAG}0` }, "identity_version_mismatch"],
    [
      "another repository",
      { identity: `https://github.com/evil/releases/.github/workflows/base-release.yaml@refs/tags/${TAG}` },
      "identity_mismatch",
    ],
    [
      "another workflow",
      { identity: `${RELEASE_REPOSITORY}/.github/workflows/ci.yaml@refs/tags/${TAG}` },
      "identity_mismatch",
    ],
    ["a branch", { identity: `${WORKFLOW}@refs/heads/${TAG}` }, "identity_mismatch"],
    ["an identity of 600 characters", { identity: `${WORKFLOW}@refs/tags/${"v".repeat(600)}` }, "identity_mismatch"],
  ] as const)("%s is refused", async (_, options, code) => {
    expect(codeOf(await sign(options))).toBe(code);
  });

  it("accepts v0.15.2 for 0.15.2 only, neither v0.15.20 nor v0.152.0", async () => {
    expect(codeOf(await sign({ tag: "v0.15.2" }), { version: "0.15.2" })).toBe("verified");
    expect(codeOf(await sign({ tag: "v0.15.20" }), { version: "0.15.2" })).toBe("identity_version_mismatch");
    expect(codeOf(await sign({ tag: "v0.152.0" }), { version: "0.15.2" })).toBe("identity_version_mismatch");
  });

  it("compares an exact identity whole", async () => {
    const signed = await sign();
    expect(codeOf(signed, { identity: { exact: `${WORKFLOW}@refs/tags/${TAG}` } })).toBe("verified");
    expect(codeOf(signed, { identity: { exact: `${WORKFLOW}@refs/tags/` } })).toBe("identity_mismatch");
    expect(codeOf(signed, { identity: { exact: "" } })).toBe("identity_mismatch");
  });

  it("never judges by an unanchored pattern", async () => {
    expect(codeOf(await sign(), { identity: { pattern: "https://github.com/" } })).toBe("identity_pattern_refused");
  });

  it.each(["", "1", "v0.162.0", "0.162.0@refs/tags/v1"])("takes %j for no version", async (version) => {
    expect(codeOf(await sign(), { version })).toBe("identity_version_mismatch");
  });
});

describe("what is no bundle", () => {
  it.each([
    ["an open brace", "{", "bundle_malformed"],
    ["an empty object", "{}", "bundle_malformed"],
    ["a bundle without content", '{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}', "bundle_malformed"],
    [
      "wrong types",
      '{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":7,"messageSignature":[]}',
      "bundle_malformed",
    ],
    [
      "a suffix on the media type",
      '{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+jsonEVIL"}',
      "bundle_malformed",
    ],
    ["deep nesting", `{"a":${"[".repeat(100_000)}`, "bundle_malformed"],
    ["a list", "[]", "signature_legacy"],
    ["white space before the brace", " {}", "signature_legacy"],
    ["a byte order mark", "\u{feff}{}", "signature_legacy"],
  ] as const)("%s is refused", (_, text, code) => {
    expect(codeOf(Buffer.from(text))).toBe(code);
  });

  it("refuses 300 kB of copied timestamps within a second, and other large texts by size", async () => {
    const copies = await sign({ defect: "copied-timestamps" });
    expect(copies.length).toBeGreaterThan(200_000);
    const began = performance.now();
    expect(codeOf(copies)).toBe("bundle_oversized");
    expect(codeOf(Buffer.from(`{"a":"${"x".repeat(300_000)}"}`))).toBe("bundle_oversized");
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it("refuses invalid UTF-8", () => {
    expect(codeOf(Buffer.of(0x7b, 0xff, 0x7d))).toBe("bundle_malformed");
  });

  it("ends in one typed refusal whatever single byte is changed or cut away", async () => {
    const whole = await sign();
    for (let round = 0; round < 60; round += 1) {
      const changed = Buffer.from(whole);
      const at = randomInt(1, changed.length);
      changed[at] = randomInt(32, 127);
      expect(codeOf(changed)).toMatch(/^(bundle|identity|issuer|signature)_|^verified$/);
      expect(codeOf(whole.subarray(0, at))).toBe("bundle_malformed");
    }
  });
});

describe("the root of trust", () => {
  it("is kept: what a later process signs verifies with the first root", async () => {
    const again = await openSigningAuthority(join(folder, "authority"));
    expect(again.trustedRoot()).toBe(authority.trustedRoot());
    expect(codeOf(await sign({}, again))).toBe("verified");
    expect((await stat(join(folder, "authority", "keys.json"))).mode & 0o777).toBe(0o600);
  });

  it("of another authority accepts nothing of this one", async () => {
    const other = await openSigningAuthority(join(folder, "other"));
    expect(codeOf(await sign({ form: "rekor1" }), { root: other.trustedRoot() })).toBe("bundle_untrusted");
  });

  it.each(["tlogs", "ctlogs"] as const)(
    "whose %s lack the log of a signature says that it may be outdated",
    async (logs) => {
      const other = await openSigningAuthority(join(folder, "other"));
      const foreign = (JSON.parse(other.trustedRoot()) as Record<string, unknown>)[logs];
      const root = JSON.stringify({ ...(JSON.parse(authority.trustedRoot()) as object), [logs]: foreign });
      const signed = await sign();
      expect(() => judge(signed, { root })).toThrow("unknown log: root may be outdated");
      expect(codeOf(signed, { root })).toBe("bundle_untrusted");
    },
  );

  const broken: [string, (root: Record<string, unknown>) => unknown][] = [
    ["is empty text", () => undefined],
    ["is null", () => null],
    ["has an unknown media type", (root) => ({ ...root, mediaType: "application/json" })],
    ["has no certificate authority", (root) => ({ ...root, certificateAuthorities: [] })],
    ["has no transparency log", (root) => ({ ...root, tlogs: [] })],
    ["has no certificate log", (root) => ({ ...root, ctlogs: [] })],
    ["has a log key without start", (root) => ({ ...root, tlogs: [{ publicKey: { rawBytes: "AA==" } }] })],
    [
      "has a key that is none",
      (root) => ({
        ...root,
        ctlogs: [{ publicKey: { rawBytes: "AA==", validFor: { start: "2024-01-01T00:00:00Z" } } }],
      }),
    ],
  ];
  it.each(broken)("cannot be used when it %s", (_, change) => {
    const text = JSON.stringify(change(JSON.parse(authority.trustedRoot()) as Record<string, unknown>)) ?? "";
    expect(() => parseTrustedRoot(text)).toThrow(expect.objectContaining({ code: "trusted_root_unreadable" }));
  });

  it("that is absent, a folder or not JSON is one typed failure", async () => {
    const garbage = join(folder, "garbage.json");
    await writeFile(garbage, "no JSON");
    for (const path of [join(folder, "absent.json"), folder, garbage])
      await expect(loadTrustedRoot(path)).rejects.toMatchObject({ code: "trusted_root_unreadable" });
  });
});

describe("verify-bundle", () => {
  async function run(argv: string[]) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runVerifyBundle(argv, { out: (line) => out.push(line), err: (line) => err.push(line) });
    return { code, out, err };
  }
  const common = () => ["--issuer", CONTRACT_DEFAULTS.oidcIssuer, "--trusted-root", authority.trustedRootFile];
  const pattern = ["--identity-regexp", CONTRACT_DEFAULTS.identityPattern];

  it("exits 0 for a verified file, 1 with the rule for a refused one", async () => {
    const archive = join(folder, "archive.tar.gz");
    await writeFile(archive, "the archive");
    const bundle = `${archive}.sigstore.json`;
    await writeFile(bundle, await sign());
    const good = await run(["--bundle", bundle, ...pattern, ...common(), "--version", VERSION, archive]);
    expect(good).toMatchObject({ code: 0, err: [] });
    const other = await run(["--bundle", bundle, ...pattern, ...common(), "--version", "0.1.0", archive]);
    expect(other).toEqual({
      code: 1,
      err: [],
      out: [expect.stringMatching(/^refused \(identity_version_mismatch\): /)],
    });
    await writeFile(archive, "another archive");
    const tampered = await run(["--bundle", bundle, ...pattern, ...common(), archive]);
    expect(tampered).toEqual({
      code: 1,
      err: [],
      out: [expect.stringMatching(/^refused \(bundle_digest_mismatch\): /)],
    });
    const unanchored = await run(["--bundle", bundle, "--identity-regexp", "^a|b$", ...common(), archive]);
    expect(unanchored).toMatchObject({ code: 1, out: [expect.stringContaining("identity_pattern_refused")] });
    expect(await readFile(bundle, "utf8")).toMatch(/^\{/);
  });

  it("without a root file takes the root from a TUF repository, and keeps nothing", async () => {
    const repository = await serveTufRepository(authority.trustedRoot());
    try {
      const [bundle, root] = [join(folder, "tuf.sigstore.json"), join(folder, "first-root.json")];
      await writeFile(bundle, await sign());
      await writeFile(root, repository.root);
      const caches = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("verify-bundle-"));
      const before = await caches();
      const argv = ["--bundle", bundle, ...pattern, "--issuer", CONTRACT_DEFAULTS.oidcIssuer];
      const tuf = ["--tuf-mirror", `${repository.url}/`, "--tuf-root", root];
      expect(await run([...argv, ...tuf, `sha256:${DIGEST}`])).toMatchObject({ code: 0, err: [] });
      await repository.close();
      const gone = await run([...argv, ...tuf, `sha256:${DIGEST}`]);
      expect(gone).toEqual({ code: 2, out: [], err: [expect.stringMatching(/^no verdict: .*cannot be reached/)] });
      expect(await caches()).toEqual(before);
    } finally {
      await repository.close();
    }
  });

  it("exits 2 with one line when there can be no verdict", async () => {
    const bundle = join(folder, "some.sigstore.json");
    await writeFile(bundle, await sign());
    const digest = `sha256:${DIGEST}`;
    for (const argv of [
      [],
      ["--bundle", bundle, ...common(), digest],
      ["--bundle", bundle, ...pattern, "--identity", "x", ...common(), digest],
      ["--bundle", bundle, ...pattern, ...common()],
      ["--bundle", bundle, ...pattern, ...common(), "sha256:12"],
      ["--bundle", bundle, ...pattern, ...common(), join(folder, "absent")],
      ["--bundle", join(folder, "absent"), ...pattern, ...common(), digest],
      ["--bundle", bundle, ...pattern, "--issuer", "x", "--trusted-root", join(folder, "absent"), digest],
      ["--bundle", bundle, ...pattern, ...common(), "--unknown", digest],
      ["--bundle", bundle, ...pattern, ...common(), "--tuf-mirror", "https://tuf.example.com", digest],
      ["--bundle", bundle, ...pattern, "--issuer", "x", "--tuf-mirror", "https://tuf.example.com", digest],
      ["--bundle", bundle, ...pattern, "--issuer", "x", "--tuf-mirror", "tuf", "--tuf-root", bundle, digest],
    ]) {
      const { code, out, err } = await run(argv);
      expect({ code, out, lines: err.length }).toEqual({ code: 2, out: [], lines: 1 });
      expect(err[0]).not.toContain("\n");
    }
  });
});
