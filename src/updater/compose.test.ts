/** The rule for signatures as the configuration makes it (contract, "Signature verification"). */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { openSigningAuthority, type SigningAuthority } from "../signing/authority.ts";
import type { SignOptions } from "../signing/sign-bundle.ts";
import { loadTrustedRoot } from "../verify/policy.ts";
import { signatureRule } from "./compose.ts";

const DIGEST = createHash("sha256").update("the archive").digest("hex");
let folder: string;
let authority: SigningAuthority;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "updater-compose-"));
  authority = await openSigningAuthority(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const sign = (options: Partial<SignOptions> = {}) =>
  authority.signFile(`sha256:${DIGEST}`, { tag: "v0.162.0", ...options });
const rule = (over: Partial<Parameters<typeof signatureRule>[0]> = {}, byTuf?: Parameters<typeof signatureRule>[1]) =>
  signatureRule(
    {
      trustedRootFile: authority.trustedRootFile,
      requireSignature: true,
      certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
      certificateOidcIssuer: CONTRACT_DEFAULTS.oidcIssuer,
      ...over,
    },
    byTuf,
  );
const refused = (code: string) => expect.objectContaining({ code }) as Error;

describe("where no signature is required", () => {
  const lenient = { requireSignature: false };

  it("an archive without one is accepted, whatever the root", async () => {
    await rule({ ...lenient, trustedRootFile: join(folder, "absent") })(new Uint8Array(), DIGEST, "0.162.0");
  });

  it.each<[string, Partial<SignOptions>, string, string]>([
    ["of other bytes", { defect: "other-bytes" }, "0.162.0", "bundle_digest_mismatch"],
    ["of another release", { tag: "v0.161.0" }, "0.162.0", "identity_version_mismatch"],
    ["by another root", { defect: "other-root" }, "0.162.0", "bundle_untrusted"],
    ["by another caller", { defect: "foreign-caller" }, "0.162.0", "identity_repository_mismatch"],
    ["without a log entry", { defect: "no-log-entry" }, "0.162.0", "bundle_no_log_entry"],
    [
      "without a certificate timestamp",
      { defect: "no-certificate-timestamp" },
      "0.162.0",
      "bundle_no_certificate_timestamp",
    ],
    ["without a time", { defect: "no-time" }, "0.162.0", "bundle_no_timestamp"],
    ["in the legacy form", { defect: "legacy" }, "0.162.0", "signature_legacy"],
  ])("a wrong one is refused all the same: %s", async (_, options, version, code) => {
    await expect(rule(lenient)(await sign(options), DIGEST, version)).rejects.toThrow(refused(code));
  });

  it("a good one needs its root all the same", async () => {
    const broken = join(folder, "broken.json");
    writeFileSync(broken, "{");
    for (const trustedRootFile of [join(folder, "absent"), broken])
      await expect(rule({ ...lenient, trustedRootFile })(await sign(), DIGEST, "0.162.0")).rejects.toThrow(
        refused("trusted_root_unreadable"),
      );
  });
});

describe("where one is required", () => {
  it("a good one is accepted, and none is refused", async () => {
    await rule()(await sign(), DIGEST, "0.162.0");
    await expect(rule()(new Uint8Array(), DIGEST, "0.162.0")).rejects.toThrow(refused("signature_missing"));
  });

  it("the root is read each time: a file that is mended counts at once", async () => {
    const trustedRootFile = join(folder, "late.json");
    const late = rule({ trustedRootFile });
    await expect(late(await sign(), DIGEST, "0.162.0")).rejects.toThrow(refused("trusted_root_unreadable"));
    writeFileSync(trustedRootFile, authority.trustedRoot());
    await late(await sign(), DIGEST, "0.162.0");
  });

  it("without a root file the root by TUF decides, and is asked only for a signature that needs it", async () => {
    let asked = 0;
    const byTuf = {
      trust: async () => {
        asked += 1;
        return await loadTrustedRoot(authority.trustedRootFile);
      },
    };
    const tuf = rule({ trustedRootFile: "" }, byTuf);
    await expect(tuf(await sign({ defect: "legacy" }), DIGEST, "0.162.0")).rejects.toThrow(refused("signature_legacy"));
    expect(asked).toBe(0);
    await tuf(await sign(), DIGEST, "0.162.0");
    await expect(tuf(await sign({ defect: "other-root" }), DIGEST, "0.162.0")).rejects.toThrow(
      refused("bundle_untrusted"),
    );
    expect(asked).toBe(2);
  });
});
