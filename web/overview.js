/** What needs a person, the fleets, the hosts. */
import { el, table } from "./dom.js";
import { badge, failures, isFinal, time } from "./rollouts.js";
import { number, plural } from "./words.js";

/** What waits for somebody, worst first. Each names the thing, what is the matter, since when. */
export function needs({ system, fleets, details }) {
  const items = [];
  for (const rollout of details.filter((it) => !isFinal(it))) {
    const name = `${rollout.fleet} #${rollout.n}`;
    const href = `#rollout-${rollout.fleet}-${rollout.n}`;
    const holds = Object.values(rollout.holds);
    if (rollout.state === "paused")
      items.push({ rank: 0, shape: "■", name, href, what: `paused: ${rollout.reason}${failures(rollout.counts) > 0 ? ` (${plural(failures(rollout.counts), "failure")})` : ""}`, at: holds[0]?.at ?? null });
    else if (rollout.state === "waiting_approval") {
      const wave = rollout.waves.find((it) => it.state === "waiting_approval");
      items.push({ rank: 1, shape: "!", name, href, what: `wave ${wave?.name ?? "?"} waits for approval (${wave?.approval ?? "required"}): ${rollout.reason}`, at: null });
    }
  }
  if (system.git.state === "error")
    items.push({ rank: 2, shape: "✕", name: "Git", href: "#git-title", what: gitError(system.git), at: system.git.checkedAt });
  for (const fleet of fleets.items) {
    if (fleet.held !== null) items.push({ rank: 3, shape: "!", name: fleet.name, href: "#fleets-title", what: fleet.held.sentence, at: fleet.held.at });
    if (fleet.renderErrors > 0) items.push({ rank: 4, shape: "✕", name: fleet.name, href: "#hosts-title", what: `the configuration does not render for ${plural(fleet.renderErrors, "host")}; they keep what they have`, at: null });
  }
  return items.toSorted((a, b) => a.rank - b.rank || a.name.localeCompare(b.name));
}

const short = (commit) => (commit === null ? "none" : commit.slice(0, 7));
const gitError = (git) =>
  `${git.error?.message ?? "the newest revision is not valid"} (${git.error?.code ?? "invalid"}). ${short(git.appliedCommit)} stays in force${git.seenCommit === null || git.seenCommit === git.appliedCommit ? "" : `; ${short(git.seenCommit)} is not applied`}.`;

export const needsList = (items) =>
  items.length === 0
    ? [el("p", { class: "none" }, "Nothing needs a person.")]
    : items.map((it) =>
        el(
          "div",
          { class: "need" },
          el("span", { "aria-hidden": "true" }, it.shape),
          el("strong", {}, it.name),
          el("span", { class: "what" }, it.what),
          el("span", { class: "since" }, it.at === null ? "" : time(it.at)),
          el("a", { href: it.href, "data-focus": `need-${it.name}-${it.rank}` }, "Open"),
        ),
      );

const perVersion = (rows) => (rows.length === 0 ? "nothing" : rows.map(({ version, hosts }) => `${version} (${number(hosts)})`).join(", "));

/** Git wants, is offered, runs: three values, and why a fleet is held. */
export function fleetTable({ items, unassigned }) {
  if (items.length === 0) return [el("p", { class: "none" }, "No fleets yet. Fleets come from Git: add fleets/NAME.yaml and push.")];
  const columns = [
    ["Fleet", (it) => el("strong", {}, it.name)],
    ["Git wants", (it) => (it.wants === null ? "configuration only" : it.wants.version)],
    ["Offered now", (it) => [perVersion(it.offered), it.configsOffered > 0 ? `, ${plural(it.configsOffered, "configuration")}` : ""].join("")],
    ["Runs", (it) => perVersion(it.runs)],
    ["On it", (it) => (it.wants === null ? "–" : `${number(it.onWanted)} of ${number(it.agents)}`), "number"],
    ["Connected", (it) => `${number(it.connected)} of ${number(it.agents)}`, "number"],
    ["Healthy", (it) => number(it.healthy), "number"],
    ["Config pending", (it) => number(it.configPending), "number"],
    ["Held", (it) => (it.held === null ? "no" : el("span", { class: "held" }, `! ${it.held.sentence}`))],
    ["Source", (it) => (it.source === null ? "not in Git any more" : `${it.source.file}:${it.source.line} at ${short(it.commit)}`)],
  ];
  return [
    el("div", { class: "scroll" }, table(columns, items, "Fleets")),
    unassigned === 0 ? null : el("p", { class: "none" }, `${plural(unassigned, "collector")} belong to no fleet and keep what they have.`),
  ];
}

const ISSUE_COLUMNS = [
  ["Where", (it) => `${it.file}:${it.line}:${it.column}`],
  ["Severity", (it) => badge(it.severity)],
  ["What", (it) => el("span", { class: "error-text" }, `${it.path === "" ? "" : `${it.path}: `}${it.message}${it.hint === undefined ? "" : ` (${it.hint})`}`)],
  ["Code", (it) => it.code],
];

/** Which commit is in force, which is not and why, with file and line. */
export function gitView(git) {
  const force = git.appliedCommit === null ? "no commit yet" : `${short(git.appliedCommit)} "${git.subject ?? ""}" by ${git.author ?? "unknown"}, applied `;
  return [
    el("p", {}, badge(git.state), ` In force: ${force}`, git.appliedAt === null ? "" : time(git.appliedAt), git.checkedAt === null ? "" : ["; checked ", time(git.checkedAt)], git.deliveryWaiting ? "; a delivery waits for the sync" : "", "."),
    git.error === null ? null : el("p", { class: "error" }, `${git.error.message} (${git.error.code})`),
    git.issues.length === 0 ? null : el("div", { class: "scroll" }, table(ISSUE_COLUMNS, git.issues, `Issues of ${short(git.issuesCommit)}`)),
  ].filter((it) => it !== null);
}

const stateOf = (it) => badge(!it.connected ? "offline" : it.healthy ? "healthy" : "unhealthy");
const HOST_COLUMNS = [
  ["Host", (it) => el("strong", { class: "name" }, it.hostName === "" ? it.uid : it.hostName)],
  ["Fleet", (it) => it.fleet ?? "unassigned"],
  ["State", stateOf],
  ["Phase", (it) => (it.phase === null ? "–" : badge(it.phase))],
  ["Since", (it) => (!it.connected ? time(it.lastSeenAt) : it.phaseSince !== null ? time(it.phaseSince) : it.healthySince !== null ? time(it.healthySince) : time(it.lastSeenAt))],
  ["Git wants", (it) => it.wants.version],
  ["Offered", (it) => it.offered && (it.offered.version ?? it.offered.kind)],
  ["Runs", (it) => it.version],
  ["Configuration", (it) => badge(it.remoteConfig.status)],
  ["Updater", (it) => badge(it.link.state)],
  ["Why", (it) => el("span", { class: "error-text" }, it.why)],
];

export const hostTable = (rows, filtered) =>
  rows.length === 0
    ? el("p", { class: "none" }, filtered ? "No host matches the filter." : "No agents yet. They appear when they connect with an enrollment token.")
    : table(HOST_COLUMNS, rows, "Hosts");

/** The state of everything in one sentence. */
export function sentence({ system, details }, needed) {
  const running = details.filter((it) => !isFinal(it) && it.kind === "change").length;
  const { healthyCollectors, collectors } = system.counts;
  return `${needed === 0 ? "Nothing needs a person." : `${plural(needed, "thing")} ${needed === 1 ? "needs" : "need"} a person.`} ${number(healthyCollectors)} of ${plural(collectors, "collector")} connected and healthy. ${running === 0 ? "No rollout runs." : `${plural(running, "rollout")} ${running === 1 ? "runs" : "run"}.`} In force: commit ${short(system.git.appliedCommit)}.`;
}
