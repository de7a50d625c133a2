/**
 * Where a host may download from (contract, "Download base URLs", last rules). Judged on the text as it was sent: URL
 * parsers resolve `..` silently, and what they make of it is not what the server meant.
 */
import { CONTRACT_DEFAULTS } from "../brand.ts";
import type { Verdict } from "./downgrade.ts";

const ARTIFACT_PATH = "/api/v1/artifacts/";
const PORT_OF: Record<string, string> = { "http:": "80", "ws:": "80", "https:": "443", "wss:": "443" };

/** Judges a download URL against the allowed prefixes: scheme and host:port equal, path below on a segment boundary. */
export function judgeUrl(text: string, prefixes: readonly string[]): Verdict {
  const url = parse(text);
  if (url === undefined) return refuse("the download URL is not an http or https URL");
  if (url.username !== "" || url.password !== "") return refuse("the download URL carries credentials");
  if (climbs(text)) return refuse("the download URL's path climbs");
  if (prefixes.some((prefix) => isBelow(url, prefix))) return { allowed: true };
  return refuse(`${url.origin} is not below an allowed URL prefix at this path`);
}

/** Judges hop number `hop` (1-based) of a redirect. */
export function judgeRedirect(from: string, to: string, hop: number, prefixes: readonly string[]): Verdict {
  if (hop > CONTRACT_DEFAULTS.maxRedirects) return refuse(`more than ${CONTRACT_DEFAULTS.maxRedirects} redirects`);
  if (parse(from)?.protocol === "https:" && parse(to)?.protocol === "http:")
    return refuse("a redirect from https to http");
  const verdict = judgeUrl(to, prefixes);
  return verdict.allowed ? verdict : refuse(`redirect: ${verdict.because}`);
}

/** Whether a configured prefix can serve: an http or https URL without credentials, query, fragment or climbing path. */
export function judgePrefix(prefix: string): Verdict {
  const url = parse(prefix);
  if (url === undefined) return refuse("must be an http or https URL");
  if (url.username !== "" || url.password !== "") return refuse("must not carry credentials");
  if (/[?#]/.test(prefix)) return refuse("must not have a query or fragment");
  return climbs(prefix) ? refuse("must not have . or .. in its path") : { allowed: true };
}

/** What is allowed when nothing is configured: the artifact path on the host of the OpAMP endpoint. */
export function defaultPrefixes(opampEndpoint: string): string[] {
  const url = new URL(opampEndpoint);
  const secure = url.protocol === "wss:" || url.protocol === "https:";
  return [`${secure ? "https" : "http"}://${url.host}${ARTIFACT_PATH}`];
}

/** `scheme://host:port` of the OpAMP endpoint: no path, no credentials, the port always explicit. */
export function serverEndpointAttribute(opampEndpoint: string): string {
  const url = new URL(opampEndpoint);
  return `${url.protocol}//${url.hostname}:${url.port === "" ? (PORT_OF[url.protocol] ?? "") : url.port}`;
}

const refuse = (because: string): Verdict => ({ allowed: false, because });

function parse(text: string): URL | undefined {
  // white space and control characters are dropped by the URL parser: what was judged would not be what was sent
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

/** Whether the path, read as loosely as any server might, holds a `.` or `..` element. */
function climbs(text: string): boolean {
  const path = text.replace(/^[a-z]+:\/\/[^/\\?#]*/i, "").replace(/[?#].*$/, "");
  const loose = path.replace(/%2e/gi, ".").replace(/%2f|%5c|\\/gi, "/");
  return loose.split("/").some((element) => element === ".." || element === ".");
}

function isBelow(url: URL, prefix: string): boolean {
  const allowed = parse(prefix);
  if (allowed === undefined || allowed.origin !== url.origin) return false;
  const base = allowed.pathname.endsWith("/") ? allowed.pathname : `${allowed.pathname}/`;
  return url.pathname.startsWith(base) && url.pathname.length > base.length;
}
