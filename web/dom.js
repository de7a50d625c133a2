/** Making and updating elements. Text is always text: nothing that a server or host says is ever read as markup. */

/** `el("p", { class: "x" }, "text", child)`. Attributes that are false or null are left out; functions become listeners. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
};

/** Puts `next` in place of what `place` holds, keeps the focus where it was (by data-focus) and the open details open. */
export function replace(place, ...next) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  const opened = new Set(Array.from(place.querySelectorAll("details[open][data-key]"), (it) => it.dataset.key));
  place.replaceChildren(...next);
  for (const details of place.querySelectorAll("details[data-key]")) if (opened.has(details.dataset.key)) details.open = true;
  if (focused !== undefined) place.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** A table that becomes a list of cards on a phone. Columns: [title, row → content, class]. */
export const table = (columns, rows, caption) =>
  el(
    "table",
    { class: "stack" },
    el("caption", { class: "visually-hidden" }, caption),
    el("thead", {}, el("tr", {}, columns.map(([title, , cls]) => el("th", { scope: "col", class: cls }, title)))),
    el(
      "tbody",
      {},
      rows.map((row) => el("tr", {}, columns.map(([title, of, cls]) => el("td", { "data-title": title, class: cls }, of(row) ?? "–")))),
    ),
  );
