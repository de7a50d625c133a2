/** Names that a collector's configuration gives: `type` or `type/name`, and pipelines, whose type is a signal. */
import { closest } from "../config/closest.ts";

type Refused = { message: string; hint?: string };

const TYPE = /^[a-zA-Z][0-9a-zA-Z_]{0,62}$/;
/** As the collector: no blanks, no controls, no symbols, at most 1024 characters. */
const NAME = /^[^\p{Z}\p{C}\p{S}]{1,1024}$/u;
const SIGNALS = ["traces", "metrics", "logs", "profiles"];

/** Why no collector takes `id` as the name of a component, or undefined. */
export function judgeComponentName(id: string): Refused | undefined {
  const { type, name } = partsOf(id);
  if (TYPE.test(type) && (name === undefined || NAME.test(name))) return undefined;
  const isComputed = ["{{", "{%", "${"].some((opening) => id.includes(opening));
  const hint = isComputed
    ? "keys are neither templates nor references: write the name out"
    : "write type or type/name, for example otlp/gateway";
  return { message: `${id} is not a component name`, hint };
}

/** Why no collector takes `id` as the name of a pipeline, or undefined. */
export function judgePipelineName(id: string): Refused | undefined {
  const { type, name } = partsOf(id);
  if (!SIGNALS.includes(type)) {
    const near = closest(type, SIGNALS);
    const hint = near === undefined ? `a pipeline is one of ${SIGNALS.join(", ")}` : `did you mean ${near}?`;
    return { message: `${id} is not a pipeline name`, hint };
  }
  if (name === undefined || NAME.test(name)) return undefined;
  return { message: `${id} is not a pipeline name`, hint: `write ${type} or ${type}/name` };
}

function partsOf(id: string): { type: string; name: string | undefined } {
  const at = id.indexOf("/");
  return at === -1
    ? { type: id.trim(), name: undefined }
    : { type: id.slice(0, at).trim(), name: id.slice(at + 1).trim() };
}
