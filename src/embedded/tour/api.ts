/** What the tour asks the server: over HTTP with a token, like any script. */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { agentDetail, agentPage } from "../../domain/rest/agent.ts";
import type { fleets } from "../../domain/rest/fleet.ts";
import type { controlAnswer, rolloutDetail, rolloutPage, targetPage } from "../../domain/rest/rollout.ts";

export type Rollout = z.output<typeof rolloutDetail>;
export type Target = z.output<typeof targetPage>["items"][number];
export type Agent = z.output<typeof agentPage>["items"][number];
export type FleetView = z.output<typeof fleets>["items"][number];
export type Control = Rollout["controls"][number]["name"];

export type TourApi = {
  url: string;
  get<T>(path: string): Promise<T>;
  rollouts(): Promise<z.output<typeof rolloutPage>["items"]>;
  rollout(fleet: string, n: number): Promise<Rollout>;
  targets(fleet: string, n: number): Promise<Target[]>;
  collectors(): Promise<Agent[]>;
  agents(): Promise<Agent[]>;
  agent(uid: string): Promise<z.output<typeof agentDetail>>;
  fleet(name: string): Promise<FleetView | undefined>;
  control(fleet: string, n: number, name: Control, body: object): Promise<z.output<typeof controlAnswer>>;
};

const TIMEOUT_MS = 15_000;

export function createTourApi(url: string, token: string): TourApi {
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json", "idempotency-key": randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  };
  const get = <T>(path: string): Promise<T> => call<T>("GET", path);
  /** Every page of a list. */
  const all = async <T>(path: string): Promise<T[]> => {
    const items: T[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: { items: T[]; next: string | null } = await get(
        `${path}${path.includes("?") ? "&" : "?"}limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      items.push(...page.items);
      cursor = page.next;
    }
    return items;
  };
  return {
    url,
    get,
    rollouts: () => all("/api/v1/rollouts"),
    rollout: (fleet, n) => get(`/api/v1/rollouts/${fleet}/${n}`),
    targets: (fleet, n) => all(`/api/v1/rollouts/${fleet}/${n}/targets`),
    collectors: () => all("/api/v1/agents?kind=collector"),
    agents: () => all("/api/v1/agents"),
    agent: (uid) => get(`/api/v1/agents/${uid}`),
    fleet: async (name) =>
      (await get<z.output<typeof fleets>>("/api/v1/fleets")).items.find((fleet) => fleet.name === name),
    control: (fleet, n, name, body) => call("POST", `/api/v1/rollouts/${fleet}/${n}/${name}`, body),
  };
}
