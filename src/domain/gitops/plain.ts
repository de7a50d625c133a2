/**
 * Data of the free-form areas (collector configuration, parameters) as plain JSON, so that it can lie in a row and be
 * compared. JSON knows only text keys; YAML also has `22:` and `true:`, and a key must stay what it is (decisions,
 * YAML). A key that is not text is kept as `=` and its JSON; a text key that begins with `=` gets one more.
 */
export type Plain = null | boolean | number | string | Plain[] | PlainMap;
export type PlainMap = { [key: string]: Plain };
export type PlainKey = string | number | boolean | null;

export const isPlainMap = (value: unknown): value is PlainMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text under which a YAML key is kept in a `PlainMap`. */
export const encodeKey = (key: PlainKey): string => {
  if (typeof key !== "string") return `=${JSON.stringify(key)}`;
  return key.startsWith("=") ? `=${key}` : key;
};

/** The YAML key of an encoded one: `decodeKey(encodeKey(k)) === k`. */
export const decodeKey = (key: string): PlainKey => {
  if (!key.startsWith("=")) return key;
  if (key.startsWith("==")) return key.slice(1);
  return JSON.parse(key.slice(1)) as PlainKey;
};

/** Equal as data: the order of keys does not count. */
export const samePlain = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

/** One text per value, whatever the order in which its keys were written. `undefined` members are left out. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
};

/** Order by code units: the same on every replica, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
