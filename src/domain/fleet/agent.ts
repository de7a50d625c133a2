/** What the decisions on fleets know of one collector. */
export type FleetAgent = {
  uid: string;
  hostName: string;
  /** Go's names: `linux`, `amd64`. */
  os: string;
  arch: string;
  serviceName: string;
  /** As the agent reports it, without `v`. */
  version: string;
  /** `token:<id>` or `cert:<subject>`. */
  credential: string;
  /** Name of the enrollment token, when the credential is one: an inventory entry may pin it. */
  credentialName?: string;
  credentialLabels: Record<string, string>;
  attributes: Record<string, unknown>;
  /** Absent means live. Only live agents can contest a host name. */
  live?: boolean;
};
