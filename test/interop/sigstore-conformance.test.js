/**
 * Verdicts over recorded bundles: the upstream conformance suite, real releases, and bundles broken in one rule each.
 * The data lies beside the repository (`../shared/fixtures/sigstore`) and is never copied into it.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { loadTrustedRoot } from "../../src/verify/policy.ts";
import { readSignature, verifyArtifactSignature } from "../../src/verify/signature.ts";
import { hashFile } from "../../src/verify/hash-file.ts";
import { runVerifyBundle } from "../../src/verify/verify-bundle.ts";
const FIXTURES = join(import.meta.dirname, "../../../shared/fixtures/sigstore");
const present = existsSync(join(FIXTURES, "cases.json"));
if (!present)
    console.warn(`skipped: no Sigstore test data at ${FIXTURES}`);
const at = (path) => join(FIXTURES, path);
const text = (path) => readFileSync(at(path), "utf8");
async function verdict({ bundle, root, identity, issuer = CONTRACT_DEFAULTS.oidcIssuer, artifact }) {
    const files = ["--bundle", at(bundle), "--trusted-root", at(root)];
    const out = [];
    const err = [];
    const code = await runVerifyBundle([...files, ...identity, "--issuer", issuer, artifact], {
        out: (line) => out.push(line),
        err: (line) => err.push(line),
    });
    return { code, line: [...out, ...err].join("\n") };
}
function listedCases() {
    const { release_pattern: releasePattern, cases } = JSON.parse(text("cases.json"));
    return cases.flatMap((one) => {
        if (one.pattern === "release_pattern")
            return [{ ...one, pattern: releasePattern }];
        if (one.dir === undefined)
            return [one];
        const bundles = readdirSync(at(one.dir)).filter((name) => /^(ok|bad)-/.test(name));
        return bundles.map((name) => ({
            ...one,
            name,
            bundle: `${one.dir}/${name}`,
            accept: name.startsWith("ok-"),
        }));
    });
}
/** Exact mode, and the same identity as an escaped and anchored pattern. */
function identityModes({ identity, pattern }) {
    if (pattern !== undefined)
        return [["--identity-regexp", pattern]];
    if (identity === undefined)
        throw new Error("a case names no identity");
    const escaped = identity.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return [
        ["--identity", identity],
        ["--identity-regexp", `^${escaped}$`],
    ];
}
describe.skipIf(!present)("recorded bundles", () => {
    it.each(present ? listedCases() : [])("$name: accepted is $accept", async (one) => {
        const artifact = one.artifact.startsWith("sha256:") ? one.artifact : at(one.artifact);
        for (const identity of identityModes(one)) {
            const { code, line } = await verdict({ ...one, identity, artifact });
            expect({ code, line }).toEqual({ code: one.accept ? 0 : 1, line: expect.any(String) });
            expect(line).not.toMatch(/\n| {4}at /);
        }
    });
    it("covers all recorded local bundles", () => {
        const names = listedCases().map((one) => one.name);
        expect(names.filter((name) => name.startsWith("ok-"))).toHaveLength(5);
        expect(names.filter((name) => name.startsWith("bad-"))).toHaveLength(20);
    });
});
/** Accepted upstream, refused here: attestations, and signatures by a bare key. */
const REFUSED_ON_PURPOSE = new Map([
    ["happy-path-intoto-in-dsse-v3", "bundle_not_message_signature"],
    ["intoto-with-custom-trust-root", "bundle_not_message_signature"],
    ["rekor2-dsse-happy-path", "bundle_not_message_signature"],
    ["managed-key-happy-path", "bundle_no_certificate"],
    ["managed-key-and-trusted-root", "bundle_no_certificate"],
]);
const SUITE = "conformance/bundle-verify";
const SUITE_IDENTITY = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const suite = present ? readdirSync(at(SUITE), { withFileTypes: true }).filter((one) => one.isDirectory()) : [];
async function suiteVerdict(name, by) {
    const own = (file) => (existsSync(at(`${SUITE}/${name}/${file}`)) ? `${SUITE}/${name}/${file}` : undefined);
    const identity = own("identity");
    const issuer = own("issuer");
    const artifact = at(own("artifact") ?? `${SUITE}/a.txt`);
    return verdict({
        bundle: `${SUITE}/${name}/bundle.sigstore.json`,
        root: own("trusted_root.json") ?? "trusted_root/public-good.json",
        identity: ["--identity", identity === undefined ? SUITE_IDENTITY : text(identity).trim()],
        issuer: issuer === undefined ? undefined : text(issuer).trim(),
        artifact: by === "file" ? artifact : `sha256:${await hashFile(artifact)}`,
    });
}
describe.skipIf(!present)("upstream conformance suite", () => {
    it.each(suite.map((one) => one.name))("%s gets the expected verdict by file and by digest", async (name) => {
        const refusal = REFUSED_ON_PURPOSE.get(name);
        for (const by of ["file", "digest"]) {
            const { code, line } = await suiteVerdict(name, by);
            expect({ code, line }).toEqual({
                code: name.endsWith("_fail") || refusal !== undefined ? 1 : 0,
                line: expect.stringContaining(refusal ?? ""),
            });
            expect(line).not.toMatch(/\n| {4}at /);
        }
    });
    it("has the seventy cases it is known to have", () => {
        expect(suite).toHaveLength(70);
    });
});
describe.skipIf(!present)("the real release v0.158.0", () => {
    const asset = "otelcol-contrib-0.158.0/otelcol-contrib_0.158.0_linux_amd64.tar.gz";
    const judge = async (version) => verifyArtifactSignature({
        signature: readSignature(readFileSync(at(`${asset}.sigstore.json`))),
        sha256Hex: text(`${asset}.sha256`),
        policy: {
            trust: await loadTrustedRoot(at("trusted_root/public-good.json")),
            identity: { pattern: CONTRACT_DEFAULTS.identityPattern },
            issuer: CONTRACT_DEFAULTS.oidcIssuer,
        },
        version,
        required: true,
    });
    it("is accepted when 0.158.0 is offered", async () => {
        expect(await judge("0.158.0")).toMatchObject({
            kind: "verified",
            repository: "https://github.com/open-telemetry/opentelemetry-collector-releases",
        });
    });
    it("is refused when 0.159.0 is offered with it", async () => {
        await expect(judge("0.159.0")).rejects.toMatchObject({ code: "identity_version_mismatch" });
    });
});
