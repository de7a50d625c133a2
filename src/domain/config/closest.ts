/** "Did you mean": the known name that a mistyped one most likely stands for. */

/** The nearest of `known` within two edits (one for names up to four characters), or nothing. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const most = name.length <= 4 ? 1 : 2;
  let best: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits =
      candidate.toLowerCase() === name.toLowerCase() ? 0 : distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits <= most && (best === undefined || edits < best.edits)) best = { name: candidate, edits };
  }
  return best?.name;
}

/** Edits between two names, a swap of neighbours counted as one. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, at(i - 2, j - 2) + 1);
      row.push(edits);
    }
  }
  return at(a.length, b.length);
}
