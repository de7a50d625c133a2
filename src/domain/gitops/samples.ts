/**
 * Sample agents (`samples/agents/*.yaml`): every fleet is rendered for every sample that it matches, so that a revision
 * that would not render is refused before any agent meets it (contract, "How a revision is read and applied").
 */
import type { FleetAgent } from "../fleet/agent.ts";
import { identifier, type Identity } from "../fleet/assign.ts";
import { desiredVersion } from "../fleet/desired-version.ts";
import { renderText, type RenderProblem } from "../fleet/render.ts";
import { matches } from "../fleet/selector.ts";
import type { Issue } from "./issue-codes.ts";
import type { Fleet } from "./kinds.ts";
import { sampleAgent } from "./kinds/sample-agent.ts";
import { compareText } from "./plain.ts";
import { issueAt, type Source } from "./read-objects.ts";
import { locate, locatedOf, report, type LocatedOf, type Revision } from "./revision.ts";
import { checkSchema, type Finding } from "./schema-issues.ts";
import type { SourceDocument } from "./yaml-convert.ts";

export type Sample = { source: Source; name: string; agent: FleetAgent };

/** Reads one sample document. */
export function readSample(file: string, document: SourceDocument): { sample: Sample | undefined; issues: Issue[] } {
  const source: Source = { file, document };
  const { value, findings } = checkSchema(sampleAgent, document.data);
  if (value === undefined) return { sample: undefined, issues: findings.map((finding) => issueAt(source, finding)) };
  const attribute = (key: string): string => String(value.attributes[key] ?? "");
  const agent: FleetAgent = {
    uid: attribute("service.instance.id") || value.name,
    hostName: attribute("host.name") || value.name,
    os: attribute("os.type"),
    arch: attribute("host.arch"),
    serviceName: attribute("service.name"),
    version: attribute("service.version"),
    credential: "",
    credentialLabels: value.tokenLabels,
    attributes: value.attributes,
  };
  return { sample: { source, name: value.name, agent }, issues: [] };
}

/** Renders every fleet for every sample that it matches; `known` are issues that need no second report. */
export function checkSamples(revision: Revision, samples: readonly Sample[], known: readonly Issue[]): Issue[] {
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
    if (!revision.declared.has(`Blueprint/${fleet.spec.blueprint}`)) continue;
    if (locate(revision, "Blueprint", fleet.spec.blueprint) === undefined) continue;
    for (const { sample, identity } of matching) {
      for (const problem of problemsOf(revision, fleet, sample, identity)) {
        const issue = explain(revision, located, sample, problem);
        const key = `${placeOf(issue)} ${issue.message}`;
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

function problemsOf(revision: Revision, fleet: Fleet, sample: Sample, identity: Identity): RenderProblem[] {
  const version = desiredVersion(fleet)?.version ?? sample.agent.version;
  const outcome = renderText(revision, fleet, sample.agent, version, identity);
  // a chain that does not hold has its own issue
  return "problems" in outcome ? outcome.problems.filter(({ code }) => code !== "unknown_reference") : [];
}

function explain(revision: Revision, fleet: LocatedOf<"Fleet">, sample: Sample, problem: RenderProblem): Issue {
  const { code, message, hint, origin, parameter } = problem;
  const suffix = `fleet ${fleet.object.name}, sample ${sample.name}`;
  const finding = (path: Finding["path"], at: Finding["at"], text: string): Finding => ({
    code,
    path,
    at,
    message: `${text} (${suffix})`,
    ...(hint === undefined ? {} : { hint }),
  });
  const blueprint = origin === undefined ? undefined : locate(revision, "Blueprint", origin.blueprint);
  if (origin !== undefined && blueprint !== undefined) return report(blueprint, finding(origin.path, "value", message));
  const path = parameter === undefined ? ["spec", "parameters"] : ["spec", "parameters", parameter];
  return report(fleet, finding(path, "key", message));
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
      const key = `${first.object.name} ${other.object.name}`;
      const message = `sample ${sample.name} matches the fleet ${first.object.name} (${first.file}:${first.document.line}) with the same priority, which gets it by name`;
      const finding: Finding = { code: "ambiguous_fleet", path: ["spec", "priority"], at: "key", message };
      if (!issues.has(key)) issues.set(key, report(other, finding));
    }
  }
  return [...issues.values()];
}
