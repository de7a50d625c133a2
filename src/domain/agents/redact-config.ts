/**
 * An effective configuration as it may be shown (decisions, "Server"). The collector expands `${env:X}` before it reports, so
 * secrets of the host stand in it: a leaf whose sent value held an expression is shown as sent, values that its expression
 * came to are masked wherever else they stand, and so is whatever a key or its own form tells to be a secret.
 */
import { hasExpression, isAbsent, isMap, memberOf, namedValues } from "./config-compare.ts";

export const MASK = "[masked]";

const SECRET_KEY =
  /token|passw(?:or)?d|passphrase|secret|authorization|cookie|credential|api[_.-]?key|access[_.-]?key|private[_.-]?key|signature|_pem$|^pwd$/i;
/** `token_file` names a file, not a secret. */
const NAMES_A_FILE = /(?:file|filename|path|header|type|url|endpoint|ttl|expiry|scheme)$/i;
export const isSecretKey = (key: string): boolean => SECRET_KEY.test(key) && !NAMES_A_FILE.test(key);

/** Sections whose keys are component ids: `bearertokenauth` is no secret, what is in it may be. */
const SECTIONS: readonly string[] = ["receivers", "processors", "exporters", "connectors", "extensions"];

/** `sent`: configurations of ours that it may come from, as parsed YAML; all as data. */
export function redactConfig(effective: unknown, sent: readonly unknown[]): unknown {
  const learned = new Set<string>();
  const shown = redact(effective, sent, { isSecret: false, depth: 0, section: "", learned });
  return plainOf(shown, learned);
}

type Place = { isSecret: boolean; depth: number; section: string; learned: Set<string> };

function redact(value: unknown, sent: readonly unknown[], place: Place): unknown {
  const expression = sent.find(hasExpression);
  if (expression !== undefined) {
    learn(expression, value, place.learned);
    return new AsSent(expression);
  }
  if (Array.isArray(value)) return redactList(value, sent, place);
  if (isMap(value)) return redactMap(value, sent, place);
  // A leaf in place of something in which an expression stood: which part of it is secret cannot be told.
  if (sent.some(holdsExpression)) return MASK;
  if (place.isSecret) return value === null || typeof value === "boolean" || value === "" ? value : MASK;
  return typeof value === "string" ? maskInText(value) : value;
}

function redactMap(value: Record<string, unknown>, sent: readonly unknown[], place: Place): unknown {
  const maps = sent.flatMap((one) => (isMap(one) ? [one] : Array.isArray(one) ? [namedValues(one) ?? {}] : []));
  // `{name: authorization, value: …}` in a list of headers.
  const name = value["name"] ?? value["key"];
  const isNamedSecret = typeof name === "string" && isSecretKey(name);
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const isId = place.depth === 1 && SECTIONS.includes(place.section);
    const isSecret = place.isSecret || (!isId && isSecretKey(key)) || (isNamedSecret && key === "value");
    const inSent = maps.map((map) => memberOf(map, key)).filter((one) => !isAbsent(one));
    const section = place.depth === 0 ? key : place.section;
    return [key, redact(inner, inSent, { ...place, isSecret, depth: place.depth + 1, section })];
  });
  return Object.fromEntries(entries);
}

function redactList(value: readonly unknown[], sent: readonly unknown[], place: Place): unknown {
  const inner = { ...place, depth: place.depth + 1 };
  const maps = sent.filter(isMap);
  if (maps.length > 0 && namedValues(value) !== undefined)
    return value.map((entry) => redactNamed(entry as Record<string, unknown>, maps, inner));
  const lists = sent.filter(Array.isArray) as unknown[][];
  const fitting = lists.filter((list) => list.length === value.length);
  // A list that was cut or grew: no element can be said to be the one that held an expression.
  const isUnsure = lists.some((list) => list.length !== value.length && list.some(holdsExpression));
  return value.map((entry, i) =>
    redact(entry, isUnsure ? [] : fitting.map((list) => list[i]), isUnsure ? { ...inner, isSecret: true } : inner),
  );
}

/** An entry of a list of headers that was sent as a map. */
function redactNamed(
  entry: Record<string, unknown>,
  maps: readonly Record<string, unknown>[],
  place: Place,
): Record<string, unknown> {
  const name = String(entry["name"] ?? entry["key"]);
  const inSent = maps.map((map) => memberOf(map, name)).filter((one) => !isAbsent(one));
  const isSecret = place.isSecret || isSecretKey(name);
  return { ...entry, value: redact(entry["value"], inSent, { ...place, isSecret }) };
}

/** A text that was sent: nothing in it is a secret of the host. */
class AsSent {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const holdsExpression = (value: unknown): boolean =>
  hasExpression(value) ||
  (Array.isArray(value) && value.some(holdsExpression)) ||
  (isMap(value) && Object.values(value).some(holdsExpression));

/** Shorter values stand everywhere by chance. */
const MIN_LEARNED_CHARS = 6;

/** What the one expression of a text came to. */
function learn(expression: string, value: unknown, learned: Set<string>): void {
  if (typeof value !== "string") return;
  const [before = "", after, ...more] = expression.split(/\$\{[^{}]*\}/);
  if (after === undefined || more.length > 0) return;
  if (!value.startsWith(before) || !value.endsWith(after)) return;
  const secret = value.slice(before.length, value.length - after.length);
  if (secret.length >= MIN_LEARNED_CHARS) learned.add(secret);
}

/** Sent texts as plain text again; everywhere else what an expression came to is masked. */
function plainOf(value: unknown, learned: ReadonlySet<string>): unknown {
  if (value instanceof AsSent) return value.text;
  if (typeof value === "string") {
    let text = value;
    for (const secret of learned) text = text.replaceAll(secret, MASK);
    return text;
  }
  if (Array.isArray(value)) return value.map((inner) => plainOf(inner, learned));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainOf(inner, learned)]));
}

/** Credentials inside a text: in URLs, in query parameters, after an authentication scheme. */
export const maskInText = (text: string): string =>
  text
    .replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]*@/gi, `$1${MASK}@`)
    .replaceAll(
      /([?&;](?:[\w.-]*(?:token|passw(?:or)?d|secret|api[_-]?key|signature)|sig|key|auth)=)[^&#;\s]+/gi,
      `$1${MASK}`,
    )
    .replaceAll(/\b(Bearer|Basic|Token|ApiKey)\s+[A-Za-z0-9+/=._~-]{6,}/gi, `$1 ${MASK}`);
