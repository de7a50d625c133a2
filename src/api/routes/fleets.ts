/** Fleets: what Git wants, what is offered, what runs, what is held and why. Read only: Git is edited in Git. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { desiredVersion } from "../../domain/fleet/desired-version.ts";
import type { Fleet } from "../../domain/gitops/kinds.ts";
import { fleets as fleetsOf, policyOf, type Snapshot } from "../../domain/gitops/snapshot.ts";
import { dnsName } from "../../domain/rest/common.ts";
import * as rest from "../../domain/rest/fleet.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { RolloutState } from "../../domain/rollout/phases.ts";
import type { Pool } from "../../store/database.ts";
import {
  countFleetHosts,
  countOpenOffers,
  newestRollouts,
  type FleetCounts,
  type NewestRollout,
  type OfferCounts,
} from "../../store/fleet-counts.ts";
import { readSnapshot } from "../../store/gitops.ts";
import { readFleets, type FleetRow } from "../../store/rollouts.ts";

type FleetView = z.output<typeof rest.fleet>;
const tags = ["fleets"];

export const fleetRoutes =
  ({ pool }: { pool: Pool }): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/fleets",
      schema: { tags, summary: "List fleets: wanted, offered, running", response: { ...problems, 200: rest.fleets } },
      handler: async () => readOverview(pool),
    });
    app.route({
      method: "GET",
      url: "/fleets/:name",
      schema: {
        tags,
        summary: "Read one fleet",
        params: z.object({ name: dnsName }),
        response: { ...problems, 200: rest.fleet },
      },
      handler: async (request) => {
        const { items } = await readOverview(pool);
        const found = items.find(({ name }) => name === request.params.name);
        if (found === undefined) throw failure("not_found", { what: `fleet ${request.params.name}` });
        return found;
      },
    });
  };

type Facts = {
  snapshot: Snapshot | undefined;
  rows: FleetRow[];
  hosts: FleetCounts[];
  offers: OfferCounts[];
  newest: NewestRollout[];
};

async function readOverview(pool: Pool): Promise<z.output<typeof rest.fleets>> {
  const [snapshot, rows, hosts, offers, newest] = await Promise.all([
    readSnapshot(pool),
    readFleets(pool),
    countFleetHosts(pool),
    countOpenOffers(pool),
    newestRollouts(pool),
  ]);
  return fleetViews({ snapshot, rows, hosts, offers, newest });
}

/** Every fleet of Git, and every other one that still has hosts. */
function fleetViews(facts: Facts): z.output<typeof rest.fleets> {
  const git = facts.snapshot === undefined ? [] : fleetsOf(facts.snapshot);
  const named = new Set([...git.map(({ name }) => name), ...facts.hosts.flatMap(({ fleet }) => fleet ?? [])]);
  const items = Array.from(named)
    .toSorted()
    .map((name) =>
      viewOf(
        name,
        git.find((fleet) => fleet.name === name),
        facts,
      ),
    );
  return {
    items,
    unassigned: sum(
      facts.hosts.filter(({ fleet }) => fleet === null),
      "hosts",
    ),
  };
}

function viewOf(name: string, object: Fleet | undefined, facts: Facts): FleetView {
  const hosts = facts.hosts.filter(({ fleet }) => fleet === name);
  const offers = facts.offers.filter(({ fleet }) => fleet === name);
  const packages = offers.filter(({ kind }) => kind === "package");
  const row = facts.rows.find((fleet) => fleet.name === name);
  const desired = object && desiredVersion(object);
  const wants = desired === undefined ? null : { distribution: desired.distribution, version: desired.version };
  const runs = hosts.map(({ version, hosts: count }) => ({
    version: version === "" ? "unknown" : version,
    hosts: count,
  }));
  return {
    name,
    description: object?.metadata.description ?? null,
    source: object?.source ?? null,
    commit: facts.snapshot?.commit ?? null,
    wants,
    policy: object && facts.snapshot ? policyOf(facts.snapshot, object).name : null,
    agents: sum(hosts, "hosts"),
    connected: sum(hosts, "connected"),
    healthy: sum(hosts, "healthy"),
    onWanted: sum(
      hosts.filter(({ version }) => version === wants?.version),
      "hosts",
    ),
    configPending: sum(hosts, "configPending"),
    renderErrors: sum(hosts, "renderErrors"),
    runs,
    offered: packages.map(({ version, hosts: count }) => ({ version: version ?? "unknown", hosts: count })),
    configsOffered: sum(
      offers.filter(({ kind }) => kind === "config"),
      "hosts",
    ),
    held: heldView(row, wants?.version, runs),
    proven: { version: row?.provenVersion ?? null, commit: row?.provenCommit ?? null },
    rollout: rolloutView(facts.newest.find(({ fleet }) => fleet === name)),
  };
}

/** "held: Git says X, hosts run Y, because …" (rollouts, "Hold"). */
function heldView(row: FleetRow | undefined, wanted: string | undefined, runs: FleetView["runs"]): FleetView["held"] {
  if (row?.held === undefined || row.held === null) return null;
  const { n, because, at } = row.held;
  const running = runs.map(({ version, hosts }) => `${version} (${hosts})`).join(", ") || "nothing";
  const sentence = `held: Git says ${wanted ?? "another configuration"}, hosts run ${running}, because ${because}`;
  return { n, because, at, sentence };
}

const rolloutView = (it: NewestRollout | undefined): FleetView["rollout"] =>
  it === undefined
    ? null
    : {
        n: it.n,
        state: it.state as RolloutState,
        reason: it.reason,
        createdAt: it.createdAt.toISOString(),
        finishedAt: it.finishedAt?.toISOString() ?? null,
      };

type Countable = "hosts" | "connected" | "healthy" | "configPending" | "renderErrors";
const sum = <K extends Countable>(rows: readonly Record<K, number>[], key: K): number =>
  rows.reduce((total, row) => total + row[key], 0);
