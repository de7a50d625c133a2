/**
 * The command `verify-bundle`: one verdict by the code that hosts and server run, for people and conformance suites.
 * Exit 0: verified. Exit 1: refused, one line says by which rule. Exit 2: there is no verdict, because an argument is
 * missing or a file cannot be read.
 */
import { constants } from "node:fs";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { TrustMaterial } from "@sigstore/verify";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { isFailure } from "../domain/errors.ts";
import { judgePrefix } from "../domain/update/allowed-url.ts";
import { hashFile } from "./hash-file.ts";
import { loadTrustedRoot, type IdentityRule } from "./policy.ts";
import { readSignature, verifyArtifactSignature } from "./signature.ts";

export const VERIFY_BUNDLE_USAGE =
  "verify-bundle --bundle FILE (--identity-regexp '^…$' | --identity EXACT) --issuer URL " +
  "[--trusted-root FILE | --tuf-mirror URL --tuf-root FILE] [--version X.Y.Z] FILE|sha256:HEX";

/** Where the one line goes: verdicts to `out`, the reason for having none to `err`. */
export type Lines = { out(line: string): void; err(line: string): void };

type Question = {
  bundle: string;
  identity: IdentityRule;
  issuer: string;
  root: { file: string } | { mirrorUrl: string; rootFile: string | undefined };
  version: string | undefined;
  artifact: string;
};

class Unanswerable extends Error {}

/** Runs the command. The result is the exit code; nothing is thrown and exactly one line is written. */
export async function runVerifyBundle(
  argv: readonly string[],
  lines: Lines = { out: (line) => console.log(line), err: (line) => console.error(line) },
): Promise<number> {
  try {
    if (argv.includes("--help")) {
      lines.out(`usage: ${VERIFY_BUNDLE_USAGE}`);
      return 0;
    }
    lines.out(await answer(readQuestion(argv)));
    return 0;
  } catch (error) {
    if (isFailure(error)) {
      lines.out(`refused (${error.code}): ${error.message}`);
      return 1;
    }
    lines.err(`no verdict: ${error instanceof Error ? error.message : "an unknown error occurred"}`);
    return 2;
  }
}

async function answer(question: Question): Promise<string> {
  const sha256Hex = await digestOf(question.artifact);
  const raw = await reading(question.bundle, readFile(question.bundle));
  const trust = await trustFor(question.root);
  const verdict = verifyArtifactSignature({
    signature: readSignature(raw),
    sha256Hex,
    policy: {
      trust,
      identity: question.identity,
      issuer: question.issuer,
    },
    version: question.version,
    required: true,
  });
  if (verdict.kind === "unsigned") throw new Unanswerable("an absent signature was accepted"); // `required` excludes it
  return `verified: sha256:${sha256Hex} signed by ${verdict.identity} at ${verdict.signedAt.join(", ")}, log index ${verdict.logIndex}`;
}

/** A root file, or without one what the TUF repository says now: nothing is kept between two runs. */
async function trustFor(root: Question["root"]): Promise<TrustMaterial> {
  if ("file" in root) {
    await reading(root.file, access(root.file, constants.R_OK));
    return await loadTrustedRoot(root.file);
  }
  const { fetchTrustedRoot } = await import("./tuf-root.ts");
  const cacheFolder = await mkdtemp(join(tmpdir(), "verify-bundle-"));
  try {
    return await fetchTrustedRoot({ ...root, cacheFolder });
  } catch (error) {
    throw new Unanswerable(isFailure(error) ? error.message : "no root by TUF", { cause: error });
  } finally {
    await rm(cacheFolder, { recursive: true, force: true });
  }
}

function readQuestion(argv: readonly string[]): Question {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      bundle: text,
      identity: text,
      "identity-regexp": text,
      issuer: text,
      version: text,
      "trusted-root": text,
      "tuf-mirror": text,
      "tuf-root": text,
    },
  });
  const [artifact, ...rest] = positionals;
  if (artifact === undefined || rest.length > 0)
    throw new Unanswerable(`name one file or digest; usage: ${VERIFY_BUNDLE_USAGE}`);
  return {
    bundle: need(values.bundle, "--bundle"),
    identity: identityRule(values.identity, values["identity-regexp"]),
    issuer: need(values.issuer, "--issuer"),
    root: rootOf(values["trusted-root"], values["tuf-mirror"], values["tuf-root"]),
    version: values.version?.replace(/^v/, ""),
    artifact,
  };
}

function identityRule(exact: string | undefined, pattern: string | undefined): IdentityRule {
  if (exact !== undefined && pattern === undefined) return { exact };
  if (pattern !== undefined && exact === undefined) return { pattern };
  throw new Unanswerable(`give either --identity or --identity-regexp; usage: ${VERIFY_BUNDLE_USAGE}`);
}

function rootOf(file: string | undefined, mirrorUrl: string | undefined, rootFile: string | undefined) {
  if (file !== undefined && (mirrorUrl ?? rootFile) !== undefined)
    throw new Unanswerable(`give either --trusted-root or --tuf-mirror; usage: ${VERIFY_BUNDLE_USAGE}`);
  if (file !== undefined) return { file: need(file, "--trusted-root") };
  if (mirrorUrl === undefined) return { mirrorUrl: CONTRACT_DEFAULTS.tufMirrorUrl, rootFile };
  if (!judgePrefix(mirrorUrl).allowed) throw new Unanswerable("--tuf-mirror must be an http or https URL");
  return { mirrorUrl: mirrorUrl.replace(/\/+$/, ""), rootFile: need(rootFile, "--tuf-root") };
}

function need(value: string | undefined, option: string): string {
  if (value === undefined || value === "")
    throw new Unanswerable(`${option} is missing; usage: ${VERIFY_BUNDLE_USAGE}`);
  return value;
}

async function digestOf(artifact: string): Promise<string> {
  if (!artifact.startsWith("sha256:")) return reading(artifact, hashFile(artifact));
  const hex = artifact.slice("sha256:".length);
  if (!/^[0-9a-f]{64}$/i.test(hex)) throw new Unanswerable("a digest is sha256: and 64 hexadecimal characters");
  return hex.toLowerCase();
}

async function reading<T>(path: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw new Unanswerable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`, {
      cause: error,
    });
  }
}
