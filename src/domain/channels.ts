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
  /** payload: `moved <replica> <uid>…`, its agents speak to that process now; or `deleted <uid>…` */
  connections: "myr_connections",
  /** payload: empty; a credential of agents was made, ended, denied or allowed */
  credentials: "myr_credentials",
  /** payload: uid of the agent that a command waits for, or the id of a command that was answered */
  commands: "myr_commands",
  /** payload: event id */
  events: "myr_events",
} as const;
