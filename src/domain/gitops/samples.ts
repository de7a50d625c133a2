/**
 * Sample agents (`samples/agents/*.yaml`): every fleet is rendered for every sample that it matches, so that a revision
 * that would not render is refused before any agent meets it (contract, "How a revision is read and applied").
 */
import { identifier, type Identity } from "../fleet/assign.ts";
import { recipeOf } from "../fleet/blueprint.ts";
import { desiredVersion } from "../fleet/desired-version.ts";
import { renderText, type RenderProblem } from "../fleet/render.ts";
import { matches } from "../fleet/selector.ts";
import { judgeComponents, type ComponentList } from "./component-list.ts";
import type { Issue } from "./issue-codes.ts";
import type { Fleet } from "./kinds.ts";
import { compareText } from "./plain.ts";
import type { Sample } from "./read-sample.ts";
import { locate, locatedOf, report, type LocatedOf, type Revision } from "./revision.ts";
import type { Finding } from "./schema-issues.ts";
import { templateHint } from "./template-hints.ts";

/**
 * Renders every fleet for every sample that it matches; `known` are issues that need no second report. What is wrong at
 * one place is one issue, with the first fleet and sample that it happens to.
 */
export function checkSamples(
  revision: Revision,
  samples: readonly Sample[],
  known: readonly Issue[],
  components?: ComponentList,
): Issue[] {
  const identified = samples.map((sample) => ({
    sample,
    identity: identifier(revision, [sample.agent])(sample.agent),
  }));
  const places = new Set(known.map(placeOf));
  const issues = new Map<string, Issue>();
  for (const located of locatedOf(revision, "Fleet")) {
    const fleet = located.object;
    const matching = identified.filter(({ identity }) => matches(fleet.spec.selector, identity.labels));
    if (matching.length === 0) issues.set(`none ${fleet.name}`, noSample(located));
    if (locate(revision, "Blueprint", fleet.spec.blueprint) === undefined) continue;
    for (const { sample, identity } of matching) {
      for (const problem of problemsOf(revision, fleet, sample, identity, components)) {
        const issue = explain(revision, located, sample, problem);
        const key = `${placeOf(issue)} ${problem.message}`;
        if (!places.has(placeOf(issue)) && !issues.has(key)) issues.set(key, issue);
      }
    }
  }
  return [...issues.values(), ...findTies(revision, identified)];
}

const placeOf = ({ file, line, column }: Issue): string => `${file}:${line}:${column}`;

const noSample = (located: LocatedOf<"Fleet">): Issue => {
  const message = `no sample agent matches the fleet ${located.object.name}, so its configuration was not rendered`;
  return report(located, { code: "no_sample_agent", path: ["spec", "selector"], at: "key", message });
};

function problemsOf(
  revision: Revision,
  fleet: Fleet,
  sample: Sample,
  identity: Identity,
  components: ComponentList | undefined,
): RenderProblem[] {
  const version = desiredVersion(fleet)?.version ?? sample.agent.version;
  const outcome = renderText(revision, fleet, sample.agent, version, identity);
  // a chain that does not hold has its own issue
  if ("problems" in outcome) return outcome.problems.filter(({ code }) => code !== "unknown_reference");
  if (components === undefined) return [];
  const blueprints = recipeOf(revision, fleet.spec.blueprint)?.blueprints ?? [];
  return judgeComponents(outcome.components, components, blueprints);
}

function explain(revision: Revision, fleet: LocatedOf<"Fleet">, sample: Sample, problem: RenderProblem): Issue {
  const { code, message, hint, origin, parameter } = problem;
  const suffix = `fleet ${fleet.object.name}, sample ${sample.name}`;
  const finding = (path: Finding["path"], at: Finding["at"], text: string): Finding => ({
    code,
    path,
    at,
    message: `${text} (${suffix})`,
    ...(hint === undefined ? templateHint(message.replace(/^[^:]*: /, "")) : { hint }),
  });
  const blueprint = origin === undefined ? undefined : locate(revision, "Blueprint", origin.blueprint);
  if (origin !== undefined && blueprint !== undefined) {
    return report(blueprint, finding(origin.path, problem.at ?? "value", message));
  }
  if (parameter === undefined) return report(fleet, finding(["spec", "parameters"], "key", message));
  const entry = entryOf(revision, sample, parameter);
  const at = code === "missing_parameter" ? "key" : "value";
  if (entry === undefined) return report(fleet, finding(["spec", "parameters", parameter], at, message));
  return report(entry.located, finding([...entry.path, "parameters", parameter], "value", message));
}

/** The inventory entry that gives the sample's host this parameter. */
function entryOf(revision: Revision, sample: Sample, parameter: string) {
  const { entry } = identifier(revision, [sample.agent])(sample.agent);
  if (entry === undefined || !Object.hasOwn(entry.parameters, parameter)) return undefined;
  const located = locatedOf(revision, "Inventory").find(({ object }) => object.spec.entries.includes(entry));
  return located && { located, path: ["spec", "entries", located.object.spec.entries.indexOf(entry)] };
}

/** Two fleets of one priority on one agent: the name that sorts first gets it, and somebody should know. */
function findTies(revision: Revision, identified: readonly { sample: Sample; identity: Identity }[]): Issue[] {
  const order = locatedOf(revision, "Fleet").toSorted(
    ({ object: a }, { object: b }) => b.spec.priority - a.spec.priority || compareText(a.name, b.name),
  );
  const issues = new Map<string, Issue>();
  for (const { sample, identity } of identified) {
    const [first, ...rest] = order.filter(({ object }) => matches(object.spec.selector, identity.labels));
    for (const other of rest) {
      if (first === undefined || other.object.spec.priority !== first.object.spec.priority) continue;
      // the same object twice has its own issue
      if (other.object.name === first.object.name) continue;
      const key = `${first.object.name} ${other.object.name}`;
      const message = `sample ${sample.name} matches the fleet ${first.object.name} (${first.file}:${first.document.line}) with the same priority, which gets it by name`;
      const finding: Finding = { code: "ambiguous_fleet", path: ["spec", "priority"], at: "key", message };
      if (!issues.has(key)) issues.set(key, report(other, finding));
    }
  }
  return [...issues.values()];
}
