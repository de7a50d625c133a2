/** Status as shape + word + token, and times by the server's clock. Words are those of the API. */

const STATUS = {
  ok: ["✓", ["succeeded", "done", "ended", "ok", "healthy", "linked", "applied"]],
  run: ["►", ["preparing", "running", "offered", "downloading", "verifying", "installing", "restarting", "health_check", "applying"]],
  wait: ["◷", ["waiting_window", "baking", "health_wait"]],
  act: ["!", ["waiting_approval", "held"]],
  paused: ["■", ["paused"]],
  fail: ["✕", ["failed", "error", "unhealthy", "mismatch"]],
  warn: ["!", ["warning"]],
  undo: ["↩", ["rolling_back", "rolled_back"]],
  idle: ["○", ["pending", "none", "unset", "offline", "never"]],
  over: ["–", ["aborted", "superseded", "cancelled", "skipped"]],
};
const TOKEN = { paused: "act", over: "idle", warn: "wait" };
const BY_STATE = new Map(Object.entries(STATUS).flatMap(([token, [shape, states]]) => states.map((state) => [state, { shape, token: TOKEN[token] ?? token }])));

/** An unknown value shows `?` and its raw name. */
export const statusOf = (state) => ({ word: state, ...(BY_STATE.get(state) ?? { shape: "?", token: "idle" }) });

export const number = (value) => value.toLocaleString("en-US");
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** The server's clock: offset in milliseconds, learned from the stream. */
export const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs };

export const timeOfDay = (at) => new Date(at).toLocaleTimeString(undefined, { hour12: false });

/** `02:08 (6 min)`, with the date when it is not today. */
export function since(at) {
  const date = new Date(at);
  const sameDay = date.toDateString() === new Date(clock.now()).toDateString();
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = sameDay ? "" : `${date.toLocaleDateString(undefined, { day: "numeric", month: "short" })} `;
  return `${day}${time} (${span(clock.now() - date.getTime())})`;
}

/** `in 26 min`, or "due": never a negative number. */
export function until(at) {
  const left = new Date(at).getTime() - clock.now();
  return left <= 0 ? `${timeOfDay(at)}, due` : `${timeOfDay(at)} (in ${span(left)})`;
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 5_400) return `${Math.round(s / 60)} min`;
  return s < 172_800 ? `${Math.round(s / 3_600)} h` : `${Math.round(s / 86_400)} d`;
}
