/** The dialog of a control: what it would do, the reason, and the server's answer. Nothing is shown as done before it is. */
import { post } from "./api.js";
import { clock, timeOfDay } from "./words.js";

const dialog = document.getElementById("control");
const part = (name) => document.getElementById(`control-${name}`);
const reason = document.getElementById("reason");
let open;

/** `crypto.randomUUID` is missing on plain http; chance is not. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const nameOf = (rollout) => `${rollout.fleet} #${rollout.n}`;
const waitingWave = (rollout) => rollout.waves.find((wave) => wave.state === "waiting_approval")?.name;
const verbOf = (control) => control.charAt(0).toUpperCase() + control.slice(1);

/** Opens the dialog for one control of a rollout as the page shows it. `done(text)` tells what came of it. */
export function openControl(rollout, control, done) {
  const wave = control.name === "approve" ? waitingWave(rollout) : undefined;
  open = { key: `${rollout.fleet}/${rollout.n}`, name: control.name, wave, seen: fingerprint(rollout), idempotencyKey: newKey(), done, needsReason: control.needsReason };
  part("title").textContent = `${verbOf(control.name)} ${wave === undefined ? "" : `wave ${wave} of `}${nameOf(rollout)}`;
  part("effect").textContent = `${control.effect}.`;
  part("changed").textContent = "";
  part("answer").textContent = "";
  part("send").textContent = verbOf(control.name);
  document.getElementById("reason-needed").textContent = control.needsReason ? "(required)" : "(optional)";
  reason.value = "";
  reason.required = control.needsReason;
  enable(true);
  dialog.showModal();
  (control.name === "abort" || control.name === "rollback" ? part("cancel") : reason).focus();
}

/** Called when the page has read a rollout again: the dialog says when it is not what was looked at. */
export function rolloutChanged(rollout) {
  if (!dialog.open || open?.key !== `${rollout.fleet}/${rollout.n}`) return;
  const control = rollout.controls.find(({ name }) => name === open.name);
  if (fingerprint(rollout) !== open.seen) {
    open.seen = fingerprint(rollout);
    part("changed").textContent = `Changed at ${timeOfDay(clock.now())}: it is ${rollout.state} now. ${rollout.reason}`;
  }
  if (!open.sending) enable(control.allowed, control.reason);
}

/** What a person looked at when the dialog was opened. */
const fingerprint = (rollout) => JSON.stringify([rollout.state, rollout.run, rollout.wave, Object.keys(rollout.holds), waitingWave(rollout)]);

function enable(on, why) {
  part("send").setAttribute("aria-disabled", String(!on));
  if (!on && why) part("answer").textContent = `Not possible now: ${why}.`;
}

async function send() {
  const mine = open;
  if (part("send").getAttribute("aria-disabled") === "true") return;
  if (mine.needsReason && reason.value.trim() === "") {
    part("answer").textContent = `${verbOf(mine.name)} needs a reason.`;
    reason.focus();
    return;
  }
  mine.sending = true;
  enable(false);
  part("answer").textContent = "Waiting for the workflow's answer…";
  try {
    const body = { ...(reason.value.trim() !== "" && { reason: reason.value.trim() }), ...(mine.wave !== undefined && { wave: mine.wave }) };
    const { status, body: answer } = await post(`/rollouts/${mine.key}/${mine.name}`, body, { "idempotency-key": mine.idempotencyKey });
    const text = `${mine.name} ${timeOfDay(clock.now())}: ${answer.changed ? "" : "nothing changed: "}${answer.message}`;
    mine.sending = false;
    mine.done(status === 202 ? `${text}. Held already: no new offers. The workflow follows when Temporal answers.` : text);
    if (open === mine) dialog.close();
  } catch (error) {
    mine.sending = false;
    if (open !== mine) return mine.done(`${mine.name}: ${error.message} (${error.code})`);
    part("answer").textContent = explain(error);
    // sending again with the same key is safe: nothing happens twice
    enable(true);
  }
}

const explain = (error) =>
  error.status === 503 || error.status === 0
    ? `No answer (${error.code}). Nothing was changed as far as known. Sending again is safe.`
    : `${error.message} (${error.code}${error.requestId === "" ? "" : `, request ${error.requestId}`})`;

dialog.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});
part("cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  if (open?.sending) open.done(`${open.name} sent ${timeOfDay(clock.now())}, no answer yet`);
  open = undefined;
});
