/**
 * The linking rule (contract, "Identity and attributes"): an updater belongs to the collector that its attribute names,
 * but only if both registered with the same credential and, when both report one, the same host name without regard to
 * case. So no agent can attach itself to a collector of another credential or another host.
 */
export type LinkSide = { credential: string; hostName: string };
export type LinkTarget = LinkSide & { kind: "collector" | "updater" | "unknown" };
export type Link = { link: "none" | "linked" | "mismatch"; reason: string };

/** `named`: whether the updater's attribute names a UID; `collector`: the agent with that UID, if there is one. */
export function judgeLink(updater: LinkSide, named: boolean, collector: LinkTarget | undefined): Link {
  if (!named) return none("the updater names no collector yet");
  if (collector === undefined) return none("the collector that it names has not registered");
  if (collector.kind !== "collector")
    return none(`the agent that it names is no collector but ${collector.kind}: is its remote configuration off?`);
  if (collector.credential !== updater.credential)
    return mismatch("updater and collector registered with different credentials");
  if (isOtherHost(updater.hostName, collector.hostName))
    return mismatch(`the updater runs on ${updater.hostName}, the collector on ${collector.hostName}`);
  return { link: "linked", reason: "same credential and host" };
}

const none = (reason: string): Link => ({ link: "none", reason });
const mismatch = (reason: string): Link => ({ link: "mismatch", reason });
/** Whether two reported host names are those of two hosts: case does not count, and who reports none may be anybody. */
export const isOtherHost = (a: string, b: string): boolean =>
  a !== "" && b !== "" && a.toLowerCase() !== b.toLowerCase();
