/** Rollouts: state and why, what comes next, counts per phase, waves, controls with their reasons, hosts. */
import { openControl } from "./control-dialog.js";
import { el, svg, table } from "./dom.js";
import { number, plural, since, statusOf, until } from "./words.js";

const FINAL = ["succeeded", "failed", "aborted", "rolled_back", "superseded"];
export const isFinal = (rollout) => FINAL.includes(rollout.state);
/** Order of the API; never changes under a finger. */
const PHASES = ["pending", "offered", "downloading", "verifying", "installing", "restarting", "health_check", "rolling_back", "applying", "health_wait", "succeeded", "failed", "rolled_back", "cancelled"];
const IN_FLIGHT = PHASES.slice(1, 10);

const sum = (counts, phases) => phases.reduce((total, phase) => total + (counts[phase] ?? 0), 0);
export const failures = (counts) => sum(counts, ["failed", "rolled_back"]);

/** Shape and word together; the color only repeats them. */
export function badge(state) {
  const { shape, word, token } = statusOf(state);
  return el("span", { class: `state ${token}` }, el("span", { "aria-hidden": "true" }, `${shape} `), word);
}

/** A time that the page's ticker keeps current. */
export const time = (at, kind = "since") => el("time", { datetime: at, "data-kind": kind, title: at }, kind === "since" ? since(at) : until(at));

const SEGMENTS = [
  ["ok", ["succeeded"]],
  ["undo", ["rolled_back", "rolling_back"]],
  ["fail", ["failed"]],
  ["wait", ["health_wait"]],
  ["run", IN_FLIGHT.filter((phase) => phase !== "health_wait" && phase !== "rolling_back")],
  ["idle", ["pending", "cancelled"]],
];

/** One bar of all targets, with a text that has every number. */
function bar(counts, total, label) {
  const text = `${label}: ${PHASES.filter((phase) => counts[phase] > 0).map((phase) => `${phase} ${counts[phase]}`).join(", ") || "no targets"}`;
  const picture = svg("svg", { class: "bar", viewBox: "0 0 1000 14", preserveAspectRatio: "none", role: "img", "aria-label": text });
  let x = 0;
  for (const [token, phases] of SEGMENTS) {
    const width = total === 0 ? 0 : (sum(counts, phases) / total) * 1000;
    if (width > 0) picture.append(svg("rect", { class: token, x: x.toFixed(2), y: 0, width: Math.max(1, width - 2).toFixed(2), height: 14 }));
    x += width;
  }
  return picture;
}

const phaseList = (counts) =>
  el("ul", { class: "phases", "aria-label": "targets per phase" }, PHASES.map((phase) => el("li", { class: counts[phase] === 0 ? "zero" : "" }, `${phase} ${number(counts[phase])}`)));

function waveItem(wave, rollout) {
  const done = sum(wave.counts, ["succeeded"]);
  const failed = failures(wave.counts);
  const approvals = wave.approvals.map(({ principal }) => `approved by ${principal}`);
  const gate = wave.approval === "none" ? [] : approvals.length > 0 ? approvals : [`approval: ${wave.approval}`];
  const size = wave.size === null ? (wave.state === "pending" ? "counted when it starts" : "size not recorded") : `${number(done)} of ${number(wave.size)}`;
  return el(
    "li",
    { "aria-current": rollout.wave === wave.k && !isFinal(rollout) ? "step" : null },
    el("strong", {}, `${wave.k + 1} ${wave.name}`),
    el("span", {}, badge(wave.state === "pending" ? "not begun" : wave.state)),
    el("span", {}, size, failed > 0 ? `, ${plural(failed, "failure")}` : ""),
    wave.size === null ? null : bar(wave.counts, wave.size, `Wave ${wave.name}`),
    gate.map((line) => el("span", {}, line)),
  );
}

function controls(rollout, state) {
  return el(
    "ul",
    { class: "controls", "aria-label": `Controls of ${rollout.fleet} ${rollout.n}` },
    rollout.controls.map((control) => {
      const key = `${rollout.fleet}-${rollout.n}-${control.name}`;
      const refused = offReason(control, state);
      const sent = state.sent.get(key);
      const press = () => refused === null && openControl(rollout, control, (text) => state.told(key, text));
      return el(
        "li",
        {},
        el("button", { type: "button", "aria-disabled": String(refused !== null), "aria-describedby": `why-${key}`, "data-focus": key, click: press }, control.name),
        el("span", { class: "why", id: `why-${key}` }, sent ?? refused ?? control.effect),
      );
    }),
  );
}

/** Why a button is off: the page's reasons first, then the server's. */
function offReason(control, state) {
  if (!state.live) return "off while the server cannot be reached";
  if (state.me.role === "viewer") return "your role is viewer; controls need operator";
  return control.allowed ? null : (control.reason ?? "not possible now");
}

const holdLines = (rollout) =>
  Object.entries(rollout.holds).map(([hold, { by, at, reason }]) => [el("dt", {}, `held (${hold})`), el("dd", {}, `by ${by}, since `, time(at), reason === "" ? "" : `: ${reason}`)]);

/** The whole card of one rollout. `targets`: rows that were asked for; `failed`: a few that failed. */
export function rolloutCard(rollout, state) {
  const { counts, total } = rollout;
  const next = rollout.next;
  const key = `${rollout.fleet}-${rollout.n}`;
  return el(
    "article",
    { class: "rollout", id: `rollout-${key}`, "aria-labelledby": `title-${key}` },
    el(
      "header",
      {},
      el("h3", { id: `title-${key}` }, rollout.kind === "catch_up" ? `${rollout.fleet} catch-up` : `${rollout.fleet} #${rollout.n}`),
      badge(rollout.state),
      el("span", { class: "meta" }, `to ${rollout.version ?? "another configuration"}, commit ${rollout.commit.slice(0, 7)}, policy ${rollout.policy}`),
      rollout.temporalUrl === null ? el("span", { class: "meta" }, rollout.workflowId) : el("a", { href: safeHref(rollout.temporalUrl), target: "_blank", rel: "noreferrer", "data-focus": `wf-${key}` }, "Workflow ↗"),
    ),
    el(
      "dl",
      { class: "facts" },
      el("dt", {}, "why"),
      el("dd", {}, rollout.reason === "" ? "no reason recorded" : rollout.reason),
      isFinal(rollout)
        ? [el("dt", {}, "ended"), el("dd", {}, rollout.finishedAt === null ? "unknown when" : time(rollout.finishedAt))]
        : [el("dt", {}, "next"), el("dd", {}, next === null ? "nothing is announced" : [next.what, next.at === null ? "" : ", ", next.at === null ? "" : time(next.at, "until")])],
      holdLines(rollout),
    ),
    el("p", {}, `${number(counts.succeeded)} of ${plural(total, "target")} succeeded, ${number(sum(counts, IN_FLIGHT))} in flight, ${plural(failures(counts), "failure")}, ${number(counts.pending)} pending`),
    bar(counts, total, "All targets"),
    phaseList(counts),
    rollout.waves.length === 0 ? null : el("ol", { class: "waves" }, rollout.waves.map((wave) => waveItem(wave, rollout))),
    controls(rollout, state),
    causes(rollout),
    failed(rollout, state),
    targets(rollout, state),
  );
}

/** Targets that did not arrive, by cause: read before any row. */
function causes({ groups = [], fleet, n }) {
  if (groups.length === 0) return null;
  return el("div", {}, el("h4", {}, "Did not arrive, by cause"), el("div", { class: "scroll" }, table(CAUSE_COLUMNS, groups, `Causes of ${fleet} ${n}`)));
}

const CAUSE_COLUMNS = [
  ["What", (it) => it.kind.replaceAll("_", " ")],
  ["Cause", (it) => it.cause],
  ["Targets", (it) => number(it.count), "number"],
  ["Hosts", (it) => `${it.hosts.slice(0, 5).join(", ")}${it.count > 5 ? ` and ${number(it.count - 5)} more` : ""}`],
  ["Says", (it) => it.says],
  ["What to do", (it) => it.todo],
];

function failed(rollout, state) {
  const rows = state.failed.get(`${rollout.fleet}/${rollout.n}`) ?? [];
  if (rows.length === 0) return null;
  const all = failures(rollout.counts);
  const title = rows.length < all ? `Failures: the first ${number(rows.length)} of ${number(all)}` : "Failures";
  return el("div", {}, el("h4", {}, title), table(TARGET_COLUMNS, rows, title));
}

function targets(rollout, state) {
  const key = `${rollout.fleet}/${rollout.n}`;
  const rows = state.targets.get(key);
  const body =
    rows === undefined
      ? el("p", { class: "none" }, "Loading targets…")
      : [
          el("div", { class: "scroll" }, table(TARGET_COLUMNS, rows, `Targets of ${key}`)),
          rows.length < rollout.total ? el("p", { class: "none" }, `The first ${number(rows.length)} of ${number(rollout.total)}; all: myrctl rollouts show ${key} --targets`) : null,
        ];
  const details = el("details", { "data-key": `targets-${key}` }, el("summary", { "data-focus": `targets-${key}` }, `Targets (${number(rollout.total)})`), body);
  details.addEventListener("toggle", () => state.wantTargets(key, details.open));
  return details;
}

const TARGET_COLUMNS = [
  ["Host", (it) => it.hostName],
  ["Wave", (it) => (it.wave === null ? "–" : String(it.wave + 1)), "number"],
  ["Phase", (it) => badge(it.phase)],
  ["Since", (it) => time(it.since)],
  ["From", (it) => it.fromVersion],
  ["To", (it) => it.toVersion],
  ["Runs", (it) => it.runs],
  ["Why", (it) => el("span", { class: "error-text" }, it.why)],
  ["Next", (it) => (it.next === null ? (it.todo ?? "nothing by itself") : el("span", {}, it.next.what, it.next.at === null ? "" : ", ", it.next.at === null ? "" : time(it.next.at, "until")))],
];

/** Links come from our own configuration; still only http and https are links. */
const safeHref = (text) => (/^https?:\/\//.test(text) ? text : null);

/** Ended rollouts that are not the newest of their fleet, one line each. */
export const endedTable = (rows) =>
  table(
    [
      ["Rollout", (it) => `${it.fleet} #${it.n}`],
      ["To", (it) => it.version ?? "configuration"],
      ["State", (it) => badge(it.state)],
      ["Ended", (it) => (it.finishedAt === null ? "–" : time(it.finishedAt))],
      ["Succeeded", (it) => `${number(it.counts.succeeded)} of ${number(it.total)}`, "number"],
      ["Failures", (it) => number(failures(it.counts)), "number"],
      ["Why", (it) => it.reason],
      ["Workflow", (it) => (it.temporalUrl === null ? it.workflowId : el("a", { href: safeHref(it.temporalUrl), target: "_blank", rel: "noreferrer" }, "open ↗"))],
    ],
    rows,
    "Earlier rollouts",
  );
