/** What myrctl writes: tables for people, JSON for programs. */
export type Output = {
  out: (text: string) => void;
  err: (text: string) => void;
  /** Standard output is a terminal: colours are welcome. */
  isTerminal?: boolean;
};

export type Column<T> = [title: string, of: (row: T) => string | number | null | undefined];

/** A table with aligned columns; says so in words when there is nothing. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): string {
  if (rows.length === 0) return none;
  const cells = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, of]) => plain(of(row))))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Texts of hosts may hold anything: control characters never reach a terminal. */
export const plain = (value: string | number | null | undefined): string =>
  // oxlint-disable-next-line no-control-regex -- exactly those are replaced
  String(value ?? "-").replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "\uFFFD");

/** `1 node`, `3 nodes`. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Bytes for people: `812 B`, `14.2 MiB`, `3.1 GiB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10)));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}

/** `2026-11-29T02:14:07.123Z` → `2026-11-29 02:14:07Z`. */
export const shortTime = (time: string | null): string =>
  time === null ? "-" : time.replace("T", " ").replace(/\.\d+Z$/, "Z");
