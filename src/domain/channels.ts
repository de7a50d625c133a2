/** NOTIFY channels of PostgreSQL. A lost notification costs one sweep, never a target. */
export const CHANNELS = {
  /** payload: uid of the recipient whose open offer changed */
  offers: "myr_offers",
  /** payload: empty; some agents' reports were written */
  agents: "myr_agents",
  /** payload: `<fleet>/<n>`; state, wave, target or hold changed */
  rollouts: "myr_rollouts",
  /** payload: artifact id; state or copies changed */
  artifacts: "myr_artifacts",
  /** payload: event id */
  events: "myr_events",
} as const;
