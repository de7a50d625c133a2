/**
 * Everything that the API, the worker and automation say to each other through Temporal: workflow ids, task queues,
 * signals, updates, queries, search attributes. Names are permanent (docs/contract.md, "Temporal").
 */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";

export const QUEUES = {
  /** Workflows and short activities. */
  control: "myr-control",
  /** Git, downloads, verification: few slots. */
  io: "myr-io",
  /** Activities that watch rows for a long time: many slots. */
  observe: "myr-observe",
} as const;
/** Activities that need the staging disk of one worker host. */
export const stagingQueue = (host: string): string => `staging-${host}`;

export const WORKFLOW_IDS = {
  gitSync: "git-sync",
  reconcile: "reconcile",
  artifactReplication: "artifact-replication",
  artifactRetention: "artifact-retention",
  releaseDiscovery: "release-discovery",
  artifactFetch: (distribution: string, version: string, platform: string): string =>
    `artifact-fetch/${distribution}/${version}/${platform}`,
  rollout: (fleet: string, n: number): string => `rollout/${fleet}/${n}`,
  wave: (fleet: string, n: number, k: number): string => `rollout/${fleet}/${n}/wave/${k}`,
  catchUp: (fleet: string): string => `catch-up/${fleet}`,
} as const;

export const SEARCH_ATTRIBUTES = [
  "MyriarchFleet",
  "MyriarchRollout",
  "MyriarchState",
  "MyriarchVersion",
  "MyriarchCommit",
] as const;

/** What an operator or a program asks of a rollout. `by` of a raw signal is only a claim; the API fills it. */
export type ControlRequest = { by?: string; reason?: string; wave?: string };
export type ControlAnswer = { changed: boolean; state: string; message: string };

export const CONTROLS = ["pause", "resume", "abort", "approve", "retry", "rollback"] as const;
export type Control = (typeof CONTROLS)[number];

/** Signals for automation: a signal cannot answer, so one that does not fit is ignored and audited. */
export const controlSignals = {
  pause: defineSignal<[ControlRequest?]>("pause"),
  resume: defineSignal<[ControlRequest?]>("resume"),
  abort: defineSignal<[ControlRequest?]>("abort"),
  approve: defineSignal<[ControlRequest?]>("approve"),
  retry: defineSignal<[ControlRequest?]>("retry"),
  rollback: defineSignal<[ControlRequest?]>("rollback"),
} as const;

/** Updates for the API: the same names and payload, validated synchronously and answered. */
export const controlUpdates = {
  pause: defineUpdate<ControlAnswer, [ControlRequest]>("pause"),
  resume: defineUpdate<ControlAnswer, [ControlRequest]>("resume"),
  abort: defineUpdate<ControlAnswer, [ControlRequest]>("abort"),
  approve: defineUpdate<ControlAnswer, [ControlRequest]>("approve"),
  retry: defineUpdate<ControlAnswer, [ControlRequest]>("retry"),
  rollback: defineUpdate<ControlAnswer, [ControlRequest]>("rollback"),
} as const;

/** Wakes a singleton: new delivery, snapshot, agent, generation. Coalesced by the receiver. */
export const poke = defineSignal<[{ cause: string }]>("poke");
/** The planner tells an active rollout that a newer change is wanted. */
export const supersede = defineSignal<[{ commit: string }]>("supersede");

/** Rows of a rollout changed besides its workflow: a wave or the planner asks it to read them again. */
export const refresh = defineSignal<[{ cause: string }]>("refresh");

export const progress = defineQuery<unknown>("progress");
