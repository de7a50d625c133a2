/** Between protobuf's decoded objects and our plain data: the pieces that both directions of the conversation share. */
import type { opamp as pb } from "./generated/opamp.js";
import type { Attributes, AnyValue, ComponentDetails, ComponentHealth, ConfigMap, Header } from "./messages.ts";
import { malformed } from "./malformed.ts";

/** Deeper nesting of components or attribute values is hostile: honest collectors need four levels. */
export const MAX_NESTING = 32;

const deeper = (depth: number): number => {
  if (depth >= MAX_NESTING) throw malformed(`nested deeper than ${MAX_NESTING} levels`);
  return depth + 1;
};

type Long = pb.AgentToServer["sequenceNum"];

/** Every digit of a 64-bit field without sign. */
export const toBigInt = (value: Long | null | undefined): bigint =>
  value == null ? 0n : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);

/** Throws a RangeError for what does not fit 64 bits without sign. */
export function toLong(value: bigint): Long {
  if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new RangeError(`${value} does not fit uint64`);
  return bitsOf(value);
}

/** The generated code reads nothing but the two halves. */
const bitsOf = (value: bigint): Long =>
  ({ low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) }) as Long;

/** A copy: what is kept must not hold on to the whole received frame. */
export const toBytes = (value: Uint8Array | null | undefined): Uint8Array => Uint8Array.from(value ?? []);

/** A Map, because keys come from outside. */
export function toMap<A, B>(record: Record<string, A> | null | undefined, convert: (value: A) => B): Map<string, B> {
  return new Map(Object.entries(record ?? {}).map(([key, value]) => [key, convert(value)]));
}

/** An object without prototype, which the generated code can walk whatever the keys are; in a fixed order. */
export function toRecord<A, B>(map: ReadonlyMap<string, A>, convert: (value: A) => B): Record<string, B> {
  const record = Object.create(null) as Record<string, B>;
  for (const [key, value] of Array.from(map).toSorted(([a], [b]) => (a < b ? -1 : 1))) record[key] = convert(value);
  return record;
}

export function toAttributes(list: readonly pb.KeyValue.$Properties[] | null | undefined, depth = 0): Attributes {
  return new Map((list ?? []).map(({ key, value }) => [key ?? "", toAnyValue(value, depth)]));
}

function toAnyValue(value: pb.AnyValue.$Properties | null | undefined, depth: number): AnyValue {
  if (value == null) return null;
  if (value.stringValue != null) return value.stringValue;
  if (value.boolValue != null) return value.boolValue;
  if (value.intValue != null) return BigInt.asIntN(64, toBigInt(value.intValue));
  if (value.doubleValue != null) return value.doubleValue;
  if (value.bytesValue != null) return toBytes(value.bytesValue);
  const next = deeper(depth);
  if (value.arrayValue != null) return (value.arrayValue.values ?? []).map((item) => toAnyValue(item, next));
  return value.kvlistValue == null ? null : toAttributes(value.kvlistValue.values, next);
}

export const fromAttributes = (attributes: Attributes): pb.KeyValue.$Properties[] =>
  Array.from(attributes, ([key, value]) => ({ key, value: fromAnyValue(value) }));

function fromAnyValue(value: AnyValue): pb.AnyValue.$Properties {
  if (value === null) return {};
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "bigint") return { intValue: bitsOf(value) };
  if (typeof value === "number") return { doubleValue: value };
  if (value instanceof Uint8Array) return { bytesValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(fromAnyValue) } };
  return { kvlistValue: { values: fromAttributes(value) } };
}

export function toHealth(health: pb.ComponentHealth.$Properties, depth = 0): ComponentHealth {
  const next = deeper(depth);
  return {
    healthy: health.healthy ?? false,
    startTimeUnixNano: toBigInt(health.startTimeUnixNano),
    lastError: health.lastError ?? "",
    status: health.status ?? "",
    statusTimeUnixNano: toBigInt(health.statusTimeUnixNano),
    componentHealthMap: toMap(health.componentHealthMap, (child) => toHealth(child, next)),
    ...(health.attributes?.length ? { attributes: toAttributes(health.attributes) } : {}),
  };
}

export const fromHealth = (health: ComponentHealth): pb.ComponentHealth.$Properties => ({
  healthy: health.healthy,
  startTimeUnixNano: toLong(health.startTimeUnixNano),
  lastError: health.lastError,
  status: health.status,
  statusTimeUnixNano: toLong(health.statusTimeUnixNano),
  componentHealthMap: toRecord(health.componentHealthMap, fromHealth),
  attributes: health.attributes === undefined ? [] : fromAttributes(health.attributes),
});

export function toComponents(details: pb.ComponentDetails.$Properties, depth = 0): ComponentDetails {
  const next = deeper(depth);
  return {
    metadata: toAttributes(details.metadata),
    subComponentMap: toMap(details.subComponentMap, (child) => toComponents(child, next)),
  };
}

export const fromComponents = (details: ComponentDetails): pb.ComponentDetails.$Properties => ({
  metadata: fromAttributes(details.metadata),
  subComponentMap: toRecord(details.subComponentMap, fromComponents),
});

export const toConfigMap = (map: pb.AgentConfigMap.$Properties | null | undefined): ConfigMap =>
  toMap(map?.configMap, (file) => ({ body: toBytes(file.body), contentType: file.contentType ?? "" }));

export const fromConfigMap = (map: ConfigMap): pb.AgentConfigMap.$Properties => ({
  configMap: toRecord(map, (file) => ({ body: file.body, contentType: file.contentType })),
});

export const toHeaders = (headers: pb.Headers.$Properties | null | undefined): Header[] =>
  (headers?.headers ?? []).map(({ key, value }) => ({ key: key ?? "", value: value ?? "" }));
