/** Which components a rendered configuration defines: `receivers: {otlp/eu: …}` is the component `otlp` (gitops-schema, Blueprint). */
import type { Blueprint } from "../gitops/kinds.ts";
import { isPlainMap, type Plain } from "../gitops/plain.ts";
import type { Path } from "../gitops/yaml-convert.ts";
import type { Origin } from "./config-tree.ts";

export const COMPONENT_SECTIONS = ["receivers", "processors", "exporters", "connectors", "extensions"] as const;
export type ComponentSection = (typeof COMPONENT_SECTIONS)[number];
/** `id` with its suffix, as the configuration names it. */
export type Component = { section: ComponentSection; id: string };

export function componentsOf(config: Plain): Component[] {
  return COMPONENT_SECTIONS.flatMap((section) =>
    Object.keys(memberMap(config, section) ?? {}).map((id): Component => ({ section, id })),
  );
}

export const typeOf = ({ id }: Component): string => id.split("/", 1)[0] ?? id;

/** Where the first of `blueprints` (root ancestor first) defines the component; of its section when a template does. */
export function definitionOf(blueprints: readonly Blueprint[], { section, id }: Component): Origin | undefined {
  const layers = blueprints.flatMap(({ name, spec }) => [
    { blueprint: name, path: ["spec", "config"] as Path, config: spec.config },
    ...spec.fragments.map(({ config }, index) => {
      const path: Path = ["spec", "fragments", index, "config"];
      return { blueprint: name, path, config };
    }),
  ]);
  const exact = layers.find(({ config }) => Object.hasOwn(memberMap(config, section) ?? {}, id));
  if (exact !== undefined) return { blueprint: exact.blueprint, path: [...exact.path, section, id] };
  const whole = layers.find(({ config }) => Object.hasOwn(config, section));
  return whole === undefined ? undefined : { blueprint: whole.blueprint, path: [...whole.path, section] };
}

function memberMap(map: Plain, key: string): Record<string, Plain> | undefined {
  const value = isPlainMap(map) && Object.hasOwn(map, key) ? map[key] : undefined;
  return isPlainMap(value) ? value : undefined;
}
