/** A count or a share of targets: `3` or `"10%"` (gitops-schema, Envelope). */
export type Share = { count: number } | { percent: number };

const PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/;
const COUNT = /^\d{1,7}$/;

/** The share that `value` says, or undefined. Counts are whole and not negative; percentages lie in 0 to 100. */
export function parseShare(value: string | number): Share | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? { count: value } : undefined;
  if (COUNT.test(value)) return { count: Number(value) };
  const percent = Number(PERCENT.exec(value)?.[1] ?? Number.NaN);
  return percent >= 0 && percent <= 100 ? { percent } : undefined;
}

/** The share of a value that validation has accepted. Throws on any other: that is a defect of ours. */
export function shareOf(value: string | number): Share {
  const share = parseShare(value);
  if (share === undefined) throw new TypeError(`not a count or share: ${value}`);
  return share;
}

/** How many of `total` a share takes: rounded up, at least one, at most all; of nothing it takes nothing. */
export function takeUp(share: Share, total: number): number {
  if (total <= 0) return 0;
  const wanted = "count" in share ? share.count : Math.ceil(exactPercent(share.percent, total));
  return Math.min(total, Math.max(1, wanted));
}

/** How many failures of `total` a threshold allows: rounded down. */
export function allowDown(share: Share, total: number): number {
  return "count" in share ? share.count : Math.floor(exactPercent(share.percent, total));
}

/** Percent have at most three decimals, so thousandths keep `7% of 100` at 7 and not at 7.000000000000001. */
const exactPercent = (percent: number, total: number): number => (Math.round(percent * 1000) * total) / 100_000;
