/**
 * A second opinion on the local signing authority: sigstore-python accepts what it signs and refuses each defect that it
 * knows of. Runs where `MYRIARCH_SIGSTORE_PYTHON` names a Python that has the package `sigstore`.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { openSigningAuthority } from "../../src/signing/authority.ts";
import { RELEASE_REPOSITORY } from "../../src/signing/sign-bundle.ts";
const python = process.env["MYRIARCH_SIGSTORE_PYTHON"];
if (python === undefined)
    console.warn("skipped: MYRIARCH_SIGSTORE_PYTHON names no Python with sigstore");
const TAG = "v0.162.0";
/** Prints one line: `accepted`, or `refused` and why. */
const JUDGE = `
import sys
from sigstore.models import Bundle, TrustedRoot
from sigstore.verify import Verifier, policy
root, bundle, artifact, identity, issuer = sys.argv[1:]
verifier = Verifier(trusted_root=TrustedRoot.from_file(root))
try:
    with open(bundle) as text, open(artifact, "rb") as data:
        verifier.verify_artifact(data.read(), Bundle.from_json(text.read()), policy.Identity(identity=identity, issuer=issuer))
    print("accepted")
except Exception as error:
    print("refused", type(error).__name__, error)
`;
describe.skipIf(python === undefined)("sigstore-python", () => {
    let folder;
    let authority;
    beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "myriarch-python-"));
        authority = await openSigningAuthority(join(folder, "authority"));
        await writeFile(join(folder, "archive"), "the archive");
    });
    afterAll(() => rm(folder, { recursive: true }));
    async function judge(options) {
        const archive = join(folder, "archive");
        const bundle = join(folder, "bundle.json");
        await writeFile(bundle, await authority.signFile(archive, { tag: TAG, ...options }));
        const identity = `${RELEASE_REPOSITORY}/.github/workflows/base-release.yaml@refs/tags/${TAG}`;
        const files = [authority.trustedRootFile, bundle, archive];
        const { stdout } = await promisify(execFile)(python ?? "", [
            "-c",
            JUDGE,
            ...files,
            identity,
            CONTRACT_DEFAULTS.oidcIssuer,
        ]);
        return stdout.trim();
    }
    it.each(["rekor1", "rekor1-timestamp", "rekor1-without-promise", "rekor2-timestamp"])("accepts the form %s", async (form) => {
        expect(await judge({ form })).toBe("accepted");
    });
    it.each([
        "other-bytes",
        "rewritten-digest",
        "other-issuer",
        "no-certificate-timestamp",
        "no-log-entry",
        "no-time",
        "time-after-expiry",
        "log-names-other-certificate",
        "unknown-log",
        "other-root",
        "attestation",
    ])("refuses %s", async (defect) => {
        expect(await judge({ defect })).toMatch(/^refused/);
    });
});
