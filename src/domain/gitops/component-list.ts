/**
 * The components that a collector has, as `otelcol components` prints them: YAML with a list per section, of names or of
 * `{name, module, …}`. A section that is absent has no components.
 */
import { parseDocument } from "yaml";
import { z } from "zod";
import { closest } from "../config/closest.ts";
import {
  COMPONENT_SECTIONS,
  definitionOf,
  typeOf,
  type Component,
  type ComponentSection,
} from "../fleet/components.ts";
import type { RenderProblem } from "../fleet/render.ts";
import type { Blueprint } from "./kinds.ts";
import { isPlainMap } from "./plain.ts";

/** Component types (`otlp`, not `otlp/eu`) by section. Plain data. */
export type ComponentList = Record<ComponentSection, string[]>;
export type ComponentListResult = { ok: true; list: ComponentList } | { ok: false; message: string };

const entry = z.union([z.string().min(1), z.object({ name: z.string().min(1) }).transform(({ name }) => name)]);
const section = z
  .array(entry)
  .nullish()
  .transform((names) => names ?? []);

/** Reads a list. A text that is none is refused with what is wrong and what is expected. */
export function parseComponentList(text: string): ComponentListResult {
  const document = parseDocument(text, { logLevel: "error", prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) return refuse(`it is not valid YAML: ${error.message.split("\n")[0] ?? ""}`);
  const data: unknown = document.toJS();
  if (!isPlainMap(data)) return refuse("it is not a map");
  if (!COMPONENT_SECTIONS.some((name) => Object.hasOwn(data, name))) return refuse("it has none of these sections");
  const list: [ComponentSection, string[]][] = [];
  for (const name of COMPONENT_SECTIONS) {
    const parsed = section.safeParse(Object.hasOwn(data, name) ? data[name] : undefined);
    if (!parsed.success) return refuse(`${name} is not a list of names or of {name, module} maps`);
    list.push([name, parsed.data]);
  }
  return { ok: true, list: Object.fromEntries(list) as ComponentList };
}

const refuse = (problem: string): ComponentListResult => ({
  ok: false,
  message: `${problem}; expected is what \`otelcol components\` prints: ${COMPONENT_SECTIONS.join(", ")}, each a list`,
});

/** What of a rendered configuration the list does not have, at the place in the blueprint that defines it. */
export function judgeComponents(
  components: readonly Component[],
  list: ComponentList,
  blueprints: readonly Blueprint[],
): RenderProblem[] {
  return components.flatMap((component): RenderProblem[] => {
    const known = list[component.section];
    const type = typeOf(component);
    if (known.includes(type)) return [];
    const near = closest(type, known);
    const origin = definitionOf(blueprints, component);
    return [
      {
        code: "invalid_config",
        message: `${type} is not among the ${component.section} of the collector's component list`,
        ...(near === undefined ? {} : { hint: `did you mean ${near}?` }),
        ...(origin === undefined ? {} : { origin, at: "key" }),
      },
    ];
  });
}
