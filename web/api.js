/** The API and its event stream. The page shows the server's numbers only; a failed read is shown, never guessed. */

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `the server answered ${status}`);
    this.status = status;
    this.code = body?.code ?? "unknown";
    this.requestId = body?.requestId ?? "";
  }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`api/v1${path}`, { credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(30_000), ...options });
  } catch (error) {
    const problem = new Problem(0, { code: "no_answer", detail: "the server does not answer" });
    problem.cause = error;
    throw problem;
  }
  const text = await answer.text();
  let body = null;
  try {
    body = text === "" ? null : JSON.parse(text);
  } catch {
    throw new Problem(answer.status, { code: "no_json", detail: `the server answered ${answer.status} with something else than JSON` });
  }
  if (!answer.ok) throw new Problem(answer.status, body);
  return { status: answer.status, body };
}

export const get = async (path) => (await ask(path)).body;

export const post = (path, payload, headers = {}) =>
  ask(path, {
    method: "POST",
    headers: { ...(payload !== undefined && { "content-type": "application/json" }), ...headers },
    ...(payload !== undefined && { body: JSON.stringify(payload) }),
  });

export const signIn = (token) => ask("/session", { method: "POST", headers: { authorization: `Bearer ${token}` } });
export const signOut = () => ask("/session", { method: "DELETE" });

/** Nothing heard for three pings: the page is not live, whatever the connection says. */
const SILENT_MS = 45_000;
const AGAIN_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Follows the stream for ever. `onChange(topic)`, `onReset()`, `onState({ live, at, retryAt })`, `onPing(serverTime)`.
 * Reconnects by itself with the last id; asks `me` first, so that "signed out" and "away" are told apart.
 */
export function follow({ onChange, onReset, onState, onPing, onSignedOut }) {
  let source;
  let lastId = "";
  let lastHeard = 0;
  let failures = 0;
  let timer;
  let opened = false;

  const heard = () => {
    lastHeard = Date.now();
    failures = 0;
    onState({ live: true, at: lastHeard });
  };
  const open = () => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(`api/v1/events${lastId === "" ? "" : `?lastEventId=${encodeURIComponent(lastId)}`}`);
    source.addEventListener("ping", (event) => {
      onPing(JSON.parse(event.data).at);
      if (!opened || failures > 0) onReset();
      opened = true;
      heard();
    });
    source.addEventListener("change", (event) => {
      if (event.lastEventId !== "") lastId = event.lastEventId;
      heard();
      onChange(JSON.parse(event.data));
    });
    source.addEventListener("reset", () => {
      lastId = "";
      heard();
      onReset();
    });
    source.addEventListener("error", lost);
  };
  const lost = async () => {
    source?.close();
    source = undefined;
    const wait = AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)];
    failures += 1;
    onState({ live: false, at: lastHeard, retryAt: Date.now() + wait });
    try {
      await get("/me");
    } catch (error) {
      if (error.status === 401) return onSignedOut();
    }
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  };
  const watch = setInterval(() => {
    if (source !== undefined && lastHeard > 0 && Date.now() - lastHeard > SILENT_MS) void lost();
  }, 5_000);
  const wake = () => {
    if (document.visibilityState === "visible" && Date.now() - lastHeard > SILENT_MS) open();
  };
  document.addEventListener("visibilitychange", wake);
  open();
  return {
    now: open,
    stop: () => {
      clearInterval(watch);
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
      source?.close();
    },
  };
}
