/** Myriarch's page: reads the API, follows its events, shows what it says and of when. */
import { follow, get, signIn, signOut } from "./api.js";
import { rolloutChanged } from "./control-dialog.js";
import { el, replace } from "./dom.js";
import { fleetTable, gitView, hostTable, needs, needsList, sentence } from "./overview.js";
import { endedTable, failures, isFinal, rolloutCard } from "./rollouts.js";
import { clock, plural, since, span, timeOfDay, until } from "./words.js";

const by = (id) => document.getElementById(id);
const state = {
  me: null,
  live: false,
  heardAt: 0,
  retryAt: 0,
  system: null,
  fleets: null,
  git: null,
  summaries: [],
  details: [],
  hosts: { items: [], next: null },
  targets: new Map(),
  failed: new Map(),
  wanted: new Set(),
  sent: new Map(),
  asOf: new Map(),
  told: (key, text) => {
    state.sent.set(key, text);
    renderRollouts();
  },
  wantTargets: (key, open) => {
    if (!open) return void state.wanted.delete(key);
    if (state.wanted.has(key)) return;
    state.wanted.add(key);
    refresh("rollouts");
  },
};
let stream;

// ---------------------------------------------------------------- reading: each part at most once a second
const MIN_GAP_MS = 1_000;
const parts = {
  system: { read: readSystem, render: () => undefined },
  fleets: { read: async () => void (state.fleets = await get("/fleets")), render: renderFleets },
  rollouts: { read: readRollouts, render: renderRollouts },
  git: { read: async () => void (state.git = await get("/gitops/status")), render: () => replace(by("git"), ...gitView(state.git)) },
  hosts: { read: readHosts, render: renderHosts },
};

function refresh(name) {
  const part = parts[name];
  part.asked = true;
  if (part.running || part.timer !== undefined) return;
  const wait = Math.max(0, (part.last ?? 0) + MIN_GAP_MS - Date.now());
  part.timer = setTimeout(async () => {
    part.timer = undefined;
    part.asked = false;
    part.running = true;
    part.last = Date.now();
    try {
      await part.read();
      state.asOf.set(name, clock.now());
      part.problem = undefined;
      part.render();
    } catch (error) {
      if (error.status === 401) return void signedOut();
      part.problem = error;
      console.error(`could not read ${name}`, error);
    } finally {
      part.running = false;
    }
    renderFrame();
    renderNeeds();
    tick();
    if (part.asked) refresh(name);
  }, wait);
}
const refreshAll = () => Object.keys(parts).forEach(refresh);

async function readSystem() {
  state.system = await get("/system");
}

const SHOWN_ROLLOUTS = 50;
const SHOWN_TARGETS = 200;
const SHOWN_FAILURES = 20;

async function readRollouts() {
  const { items } = await get(`/rollouts?limit=${SHOWN_ROLLOUTS}`);
  const newest = new Map();
  for (const it of items) if (it.kind === "change" && (newest.get(it.fleet)?.n ?? -1) < it.n) newest.set(it.fleet, it);
  const whole = items.filter((it) => (it.kind === "catch_up" ? it.total > 0 && !isFinal(it) : !isFinal(it) || newest.get(it.fleet) === it));
  const details = await Promise.all(whole.map((it) => get(pathOf(it))));
  for (const it of details) {
    const key = `${it.fleet}/${it.n}`;
    if (state.wanted.has(key)) state.targets.set(key, (await get(`${pathOf(it)}/targets?limit=${SHOWN_TARGETS}`)).items);
    state.failed.set(key, failures(it.counts) === 0 ? [] : await readFailed(it));
  }
  state.summaries = items.filter((it) => !whole.includes(it) && it.kind === "change");
  state.details = details.toSorted((a, b) => Number(isFinal(a)) - Number(isFinal(b)) || (a.createdAt < b.createdAt ? 1 : -1));
  for (const it of details) rolloutChanged(it);
}
const pathOf = (it) => `/rollouts/${encodeURIComponent(it.fleet)}/${it.n}`;
const readFailed = async (it) => {
  const lists = await Promise.all(["failed", "rolled_back"].filter((phase) => it.counts[phase] > 0).map((phase) => get(`${pathOf(it)}/targets?phase=${phase}&limit=${SHOWN_FAILURES}`)));
  return lists.flatMap(({ items }) => items).slice(0, SHOWN_FAILURES);
};

const SHOWN_HOSTS = 500;
async function readHosts() {
  const host = by("host-filter").value.trim();
  const query = new URLSearchParams({ kind: "collector", limit: String(SHOWN_HOSTS), ...(host !== "" && { host }) });
  state.hosts = await get(`/agents?${query}&${by("host-state").value}`);
}

// ---------------------------------------------------------------- showing
function renderFleets() {
  replace(by("fleets"), ...fleetTable(state.fleets).filter((it) => it !== null));
}

function renderRollouts() {
  const cards = state.details.map((it) => rolloutCard(it, state));
  const none = el("p", { class: "none" }, "No rollouts yet. A commit that changes the version of a fleet plans one.");
  const earlier = state.summaries.length === 0 ? [] : [el("details", { "data-key": "earlier" }, el("summary", {}, `Earlier rollouts (${state.summaries.length})`), el("div", { class: "scroll" }, endedTable(state.summaries)))];
  replace(by("rollouts"), ...(cards.length === 0 ? [none] : cards), ...earlier);
  speak();
}

function renderHosts() {
  const filtered = by("host-filter").value !== "" || by("host-state").value !== "";
  const place = by("hosts");
  const top = place.scrollTop;
  replace(place, hostTable(state.hosts.items, filtered));
  place.scrollTop = top;
  by("hosts-more").textContent = state.hosts.next === null ? `${plural(state.hosts.items.length, "host")} shown.` : `The first ${SHOWN_HOSTS} are shown; filter by name, or use myrctl agents list.`;
}

function renderNeeds() {
  if (state.system === null || state.fleets === null || !state.asOf.has("rollouts")) return;
  const items = needs(state);
  replace(by("needs"), ...needsList(items));
  const oldest = Math.min(...["system", "fleets", "rollouts"].map((name) => state.asOf.get(name) ?? 0));
  state.asOf.set("needs", oldest);
  by("sentence").textContent = sentence(state, items.length);
  document.title = items.length === 0 ? "Myriarch" : `(${items.length}) Myriarch`;
}

function renderFrame() {
  by("who").textContent = state.me === null ? "" : `${state.me.principal}, ${state.me.role}`;
  const uiUrl = state.system?.temporal.uiUrl;
  by("temporal-link").hidden = !/^https?:\/\//.test(uiUrl ?? "");
  if (uiUrl) by("temporal-link").href = uiUrl;
  const lines = [];
  if (!state.live && state.heardAt > 0 && Date.now() - state.heardAt > 30_000) lines.push(`Not live: everything below is as of ${timeOfDay(state.heardAt + clock.offsetMs)}. Controls are off until the server answers.`);
  for (const [name, { problem }] of Object.entries(parts)) if (problem) lines.push(`The ${name} could not be read (${problem.code}): ${problem.message}. What is shown is older. Rollouts go on without this page.`);
  if (state.system?.temporal.reachable === false) lines.push("Temporal does not answer. Hosts in flight go on; no new wave starts. Pause and abort still hold all offers; approve, resume, retry and rollback must wait.");
  by("banner").hidden = lines.length === 0;
  const text = lines.join(" ");
  if (by("banner").textContent !== text) by("banner").textContent = text;
}

let spoken = "";
let spokenAt = 0;
/** State changes only, at most every five seconds; counters are silent. */
function speak() {
  const text = state.details.map((it) => `${it.fleet} ${it.n}: ${it.state}`).join(". ");
  if (text === spoken || Date.now() - spokenAt < 5_000) return;
  spoken = text;
  spokenAt = Date.now();
  by("spoken").textContent = text;
}

/** The one ticker: relative times, countdowns, and whether what is shown is live. */
function tick() {
  const mark = by("live").querySelector(".mark");
  const words = by("live").lastElementChild;
  by("live").className = `live ${state.live ? "is-live" : "is-stale"}`;
  mark.textContent = state.live ? "●" : "○";
  const shown = timeOfDay(state.heardAt + clock.offsetMs);
  const again = state.retryAt > Date.now() ? ` Trying again in ${span(state.retryAt - Date.now())}.` : "";
  words.textContent = state.live ? `Live ${timeOfDay(clock.now())}` : state.heardAt === 0 ? "Connecting…" : `Not live. Showing ${shown} (${span(Date.now() - state.heardAt)} ago).${again}`;
  for (const node of document.querySelectorAll("[data-as-of]")) {
    const at = state.asOf.get(node.dataset.asOf);
    node.textContent = at === undefined ? "loading…" : `as of ${timeOfDay(at)}`;
  }
  for (const node of document.querySelectorAll("time[data-kind]")) {
    const text = node.dataset.kind === "since" ? since(node.dateTime) : until(node.dateTime);
    if (node.textContent !== text) node.textContent = text;
  }
}

// ---------------------------------------------------------------- following
const TOPICS = [
  [/^rollout:/, ["rollouts", "fleets", "hosts"]],
  [/^agents$/, ["hosts", "fleets", "system"]],
  [/^gitops$/, ["git", "system", "fleets"]],
  [/^(artifacts|depots)$/, ["rollouts"]],
];

function start() {
  by("sign-in").hidden = true;
  by("main").hidden = false;
  by("sign-out").hidden = state.me.via !== "session";
  stream?.stop();
  stream = follow({
    onPing: (at) => (clock.offsetMs = new Date(at).getTime() - Date.now()),
    onChange: ({ topic }) => TOPICS.filter(([of]) => of.test(topic)).flatMap(([, names]) => names).forEach(refresh),
    onReset: refreshAll,
    onState: ({ live, at, retryAt = 0 }) => {
      const turned = state.live !== live;
      Object.assign(state, { live, heardAt: at, retryAt });
      if (!turned) return;
      renderFrame();
      renderRollouts();
    },
    onSignedOut: signedOut,
  });
}

function signedOut() {
  stream?.stop();
  Object.assign(state, { me: null, live: false });
  by("main").hidden = true;
  by("sign-out").hidden = true;
  by("sign-in").hidden = false;
  by("token").focus();
  renderFrame();
}

async function begin() {
  try {
    state.me = await get("/me");
    clock.offsetMs = new Date(state.me.now).getTime() - Date.now();
    start();
  } catch (error) {
    if (error.status === 401) return signedOut();
    by("banner").hidden = false;
    by("banner").textContent = `The server cannot be read (${error.code}): ${error.message}. Trying again in 5 s.`;
    setTimeout(begin, 5_000);
  }
  renderFrame();
}

by("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  by("sign-in-error").textContent = "";
  try {
    await signIn(by("token").value.trim());
    by("token").value = "";
    await begin();
  } catch (error) {
    by("sign-in-error").textContent = error.status === 401 ? "The server does not know this token, or it was revoked or has expired." : `${error.message} (${error.code})`;
  }
});
by("sign-out").addEventListener("click", async () => {
  try {
    await signOut();
  } finally {
    signedOut();
  }
});
let typing;
by("host-filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => refresh("hosts"), 200);
});
by("host-state").addEventListener("change", () => refresh("hosts"));
setInterval(() => {
  tick();
  renderFrame();
}, 1_000);
void begin();
