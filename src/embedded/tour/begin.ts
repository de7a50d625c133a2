/** How a quickstart without a script begins. */
import type { Stage } from "../stage/stage.ts";
import type { TourApi } from "./api.ts";
import { createFacts } from "./facts.ts";
import { FLEET, setVersion, waitingWave } from "./parts.ts";

/** The quickstart's own beginning: waits for the hosts, commits the fleet once, and (when asked) approves and waits. */
export async function beginFleet(stage: Stage, api: TourApi, toTheEnd: boolean): Promise<void> {
  const { until } = createFacts(
    () => undefined,
    () => performance.now(),
  );
  const total = stage.simulated + stage.hosts.length;
  await until("all hosts are linked", async () => {
    const linked = (await api.agents()).filter(({ kind, link }) => kind === "updater" && link.state === "linked");
    return linked.length >= total;
  });
  if ((await api.fleet(FLEET)) === undefined)
    await stage.repository.commit("The demo fleet runs 0.161.0", (work) => setVersion(work, "0.161.0"));
  if (!toTheEnd) return;
  await until("the second wave waits", async () => (await api.rollout(FLEET, 1)).state === "waiting_approval");
  const wave = waitingWave(await api.rollout(FLEET, 1));
  await api.control(FLEET, 1, "approve", { wave, reason: "asked for by --first-rollout" });
  await until("it succeeded", async () => (await api.rollout(FLEET, 1)).state === "succeeded", { withinMs: 240_000 });
}
