/**
 * Questions to `verify-bundle` whose answers are known: the upstream conformance suite, real releases, and bundles broken
 * in one rule each. The data lies beside the repository (`../shared/fixtures/sigstore`) and is never copied into it.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CONTRACT_DEFAULTS } from "../src/domain/brand.ts";
import { hashFile } from "../src/verify/hash-file.ts";
import { runVerifyBundle } from "../src/verify/verify-bundle.ts";

export const FIXTURES = join(import.meta.dirname, "../../shared/fixtures/sigstore");
export const hasFixtures = (): boolean => existsSync(join(FIXTURES, "cases.json"));

export type Check = {
  group: "recorded bundles" | "upstream suite" | "real release";
  name: string;
  accept: boolean;
  /** Accepted upstream, refused here on purpose: the code that says why. */
  onPurpose?: string | undefined;
  argv: () => Promise<string[]>;
};
export type Answer = { code: number; line: string };

const at = (path: string): string => join(FIXTURES, path);
const text = (path: string): string => readFileSync(at(path), "utf8");
const PUBLIC_ROOT = "trusted_root/public-good.json";

/** Whether an answer is the known one: its exit code, one line without a stack, and for refusals on purpose their code. */
export const isRight = ({ accept, onPurpose }: Check, { code, line }: Answer): boolean =>
  code === (accept && onPurpose === undefined ? 0 : 1) && !/\n| {4}at /.test(line) && line.includes(onPurpose ?? "");

export async function ask(check: Check): Promise<Answer> {
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  const code = await runVerifyBundle(await check.argv(), { out: take, err: take });
  return { code, line: lines.join("\n") };
}

export const allChecks = (): Check[] => [...recordedChecks(), ...suiteChecks(), ...releaseChecks()];

type Case = {
  name: string;
  bundle: string;
  root: string;
  artifact: string;
  identity?: string;
  pattern?: string;
  issuer?: string;
  accept: boolean;
};

function listedCases(): Case[] {
  const { release_pattern: releasePattern, cases } = JSON.parse(text("cases.json")) as {
    release_pattern: string;
    cases: (Case & { dir?: string })[];
  };
  return cases.flatMap((one) => {
    if (one.pattern === "release_pattern") return [{ ...one, pattern: releasePattern }];
    if (one.dir === undefined) return [one];
    const bundles = readdirSync(at(one.dir)).filter((name) => /^(ok|bad)-/.test(name));
    return bundles.map((name) => ({ ...one, name, bundle: `${one.dir}/${name}`, accept: name.startsWith("ok-") }));
  });
}

/** Exact mode, and the same identity as an escaped and anchored pattern. */
function identityModes({ identity, pattern }: Case): string[][] {
  if (pattern !== undefined) return [["--identity-regexp", pattern]];
  if (identity === undefined) throw new Error("a case names no identity");
  const escaped = identity.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return [
    ["--identity", identity],
    ["--identity-regexp", `^${escaped}$`],
  ];
}

function recordedChecks(): Check[] {
  return listedCases().flatMap((one) =>
    identityModes(one).map((identity): Check => {
      const { bundle, root, issuer = CONTRACT_DEFAULTS.oidcIssuer, artifact, name, accept } = one;
      const files = ["--bundle", at(bundle), "--trusted-root", at(root)];
      const last = artifact.startsWith("sha256:") ? artifact : at(artifact);
      const argv = async () => [...files, ...identity, "--issuer", issuer, last];
      return { group: "recorded bundles", name: `${name} (${identity[0]})`, accept, argv };
    }),
  );
}

/** Attestations, and signatures by a bare key. */
const ON_PURPOSE = new Map([
  ["happy-path-intoto-in-dsse-v3", "bundle_not_message_signature"],
  ["intoto-with-custom-trust-root", "bundle_not_message_signature"],
  ["rekor2-dsse-happy-path", "bundle_not_message_signature"],
  ["managed-key-happy-path", "bundle_no_certificate"],
  ["managed-key-and-trusted-root", "bundle_no_certificate"],
]);
const SUITE = "conformance/bundle-verify";
const SUITE_IDENTITY =
  "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";

function suiteChecks(): Check[] {
  const folders = readdirSync(at(SUITE), { withFileTypes: true }).filter((one) => one.isDirectory());
  return folders.flatMap(({ name }) =>
    (["file", "digest"] as const).map((by) => ({
      group: "upstream suite" as const,
      name: `${name} (by ${by})`,
      accept: !name.endsWith("_fail"),
      onPurpose: ON_PURPOSE.get(name),
      argv: () => suiteQuestion(name, by),
    })),
  );
}

async function suiteQuestion(name: string, by: "file" | "digest"): Promise<string[]> {
  const own = (file: string) => (existsSync(at(`${SUITE}/${name}/${file}`)) ? `${SUITE}/${name}/${file}` : undefined);
  const said = (file: string): string | undefined => {
    const path = own(file);
    return path === undefined ? undefined : text(path).trim();
  };
  const artifact = at(own("artifact") ?? `${SUITE}/a.txt`);
  return [
    `--bundle=${at(`${SUITE}/${name}/bundle.sigstore.json`)}`,
    `--trusted-root=${at(own("trusted_root.json") ?? PUBLIC_ROOT)}`,
    `--identity=${said("identity") ?? SUITE_IDENTITY}`,
    `--issuer=${said("issuer") ?? CONTRACT_DEFAULTS.oidcIssuer}`,
    by === "file" ? artifact : `sha256:${await hashFile(artifact)}`,
  ];
}

/** The published bundle of v0.158.0, by the digest of its archive, as a host judges an offer. */
function releaseChecks(): Check[] {
  const asset = "otelcol-contrib-0.158.0/otelcol-contrib_0.158.0_linux_amd64.tar.gz";
  return ["0.158.0", "0.159.0"].map((version) => ({
    group: "real release" as const,
    name: `v0.158.0 offered as v${version}`,
    accept: version === "0.158.0",
    argv: async () => [
      `--bundle=${at(`${asset}.sigstore.json`)}`,
      `--trusted-root=${at(PUBLIC_ROOT)}`,
      `--identity-regexp=${CONTRACT_DEFAULTS.identityPattern}`,
      `--issuer=${CONTRACT_DEFAULTS.oidcIssuer}`,
      `--version=${version}`,
      `sha256:${text(`${asset}.sha256`).trim()}`,
    ],
  }));
}
