import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { charge, newBucket, sliceOf, take, type Bucket } from "./token-bucket.ts";

type Sent = { atMs: number; bytes: number };
const within = (sent: readonly Sent[], fromMs: number, toMs: number): number =>
  sent.reduce((sum, { atMs, bytes }) => sum + (atMs >= fromMs && atMs < toMs ? bytes : 0), 0);
/** The most of any second that begins with a piece. Pieces come in the order of their times. */
function peak(sent: readonly Sent[]): number {
  let [most, sum, from] = [0, 0, 0];
  for (const { atMs, bytes } of sent) {
    sum += bytes;
    for (; (sent[from]?.atMs ?? atMs) <= atMs - 1_000; from++) sum -= sent[from]?.bytes ?? 0;
    most = Math.max(most, sum);
  }
  return most;
}

/** Readers that always want more, each woken so late as the list says; install traffic is charged on its way. */
function saturate(
  rate: number,
  readers: number,
  seconds: number,
  late: (i: number) => number,
  installRate = 0,
): Sent[] {
  let bucket: Bucket = newBucket(rate, 0);
  const sent: Sent[] = [];
  const due = Array.from({ length: readers }, () => ({ atMs: 0, asked: false }));
  let charged = 0;
  for (let i = 0; ; i++) {
    const next = due.reduce((a, b) => (b.atMs < a.atMs ? b : a));
    if (next.atMs >= seconds * 1_000) return sent;
    const nowMs = next.atMs;
    const install = Math.floor((installRate * nowMs) / 1_000) - charged;
    if (install > 0) {
      bucket = charge(bucket, install, nowMs);
      charged += install;
    }
    if (next.asked) sent.push({ atMs: nowMs, bytes: sliceOf(rate) });
    const taken = take(bucket, sliceOf(rate), nowMs);
    bucket = taken.bucket;
    next.asked = true;
    next.atMs = nowMs + (taken.waitMs > 0 ? taken.waitMs + late(i) : 0);
  }
}

describe("a token bucket", () => {
  test("over ten seconds its takers have the rate within 5 %, in no second more than 1.5 times it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1 << 20, max: 1 << 24 }),
        fc.integer({ min: 1, max: 16 }),
        fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 20 }),
        (rate, readers, late) => {
          const sent = saturate(rate, readers, 12, (i) => late[i % late.length] ?? 0);
          expect(peak(sent)).toBeLessThanOrEqual(1.5 * rate);
          expect(within(sent, 1_000, 11_000) / (10 * rate)).toBeGreaterThan(0.95);
          expect(within(sent, 1_000, 11_000) / (10 * rate)).toBeLessThan(1.05);
        },
      ),
      { numRuns: 20 },
    );
  });
  test("whoever goes first takes nothing from its own rate, and the others get what is left", () => {
    const rate = 1 << 20;
    expect(
      within(
        saturate(rate, 4, 12, () => 0, rate / 2),
        1_000,
        11_000,
      ) /
        (10 * rate),
    ).toBeCloseTo(0.5, 1);
  });
  test("the others never stand still, however much goes first", () => {
    const rate = 1 << 20;
    const sent = saturate(rate, 4, 12, () => 0, 20 * rate);
    expect(within(sent, 1_000, 11_000) / (10 * rate)).toBeGreaterThan(0.05);
  });
  test("a pause is caught up for a quarter of a second only, and a clock that goes back gives nothing", () => {
    const { waitMs } = take({ rate: 1_000, tokens: 0, atMs: 0 }, 350, 60_000);
    expect(waitMs).toBeCloseTo(100);
    expect(take({ rate: 1_000, tokens: 0, atMs: 5_000 }, 100, 0).waitMs).toBeCloseTo(100);
  });
});
