/** What a benchmark says: one row for people, one JSON line for programs. */
export type Figure = {
  name: string;
  ours: number;
  /** What it is measured against in the same run; null when the target is absolute. */
  other: number | null;
  ratio: number | null;
  unit: string;
  target: string;
  ok: boolean;
};

/** A figure that must not exceed `max`. */
export const atMost = (name: string, ours: number, max: number, unit: string): Figure => ({
  name,
  ours: round(ours),
  other: null,
  ratio: null,
  unit,
  target: `≤ ${max}`,
  ok: ours <= max,
});

/** A figure that must not exceed `factor` times what it is measured against. */
export const atMostTimes = (name: string, ours: number, other: number, factor: number, unit: string): Figure => ({
  name,
  ours: round(ours),
  other: round(other),
  ratio: round(ours / other),
  unit,
  target: `≤ ${factor} ×`,
  ok: ours <= other * factor,
});

/** A figure that must reach `factor` times what it is measured against; the ratio is the median of the rounds' ratios. */
export function atLeastTimes(
  name: string,
  rounds: readonly { ours: number; other: number }[],
  factor: number,
  unit: string,
): Figure {
  const ratio = median(rounds.map(({ ours, other }) => ours / other));
  return {
    name,
    ours: round(median(rounds.map(({ ours }) => ours))),
    other: round(median(rounds.map(({ other }) => other))),
    ratio: round(ratio),
    unit,
    target: `≥ ${factor} ×`,
    ok: ratio >= factor,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const round = (value: number): number => Math.round(value * 100) / 100;

export const tableOf = (figures: readonly Figure[]): string =>
  [
    "| figure | ours | against | ratio | unit | target | |",
    "|---|---:|---:|---:|---|---|---|",
    ...figures.map(
      (it) =>
        `| ${it.name} | ${it.ours} | ${it.other ?? ""} | ${it.ratio ?? ""} | ${it.unit} | ${it.target} | ${it.ok ? "met" : "**missed**"} |`,
    ),
  ].join("\n");
