/**
 * Properties take the same cases on every run, so that a change is judged by what it changed. Other cases:
 * `MYRIARCH_SEED=<number>`, or `MYRIARCH_SEED=random`; a failure prints the seed that it needs.
 */
import fc from "fast-check";

const wanted = process.env["MYRIARCH_SEED"] ?? "20261130";
if (wanted !== "random") {
  const seed = Number(wanted);
  if (!Number.isSafeInteger(seed)) throw new Error(`MYRIARCH_SEED must be a whole number or "random", not ${wanted}`);
  fc.configureGlobal({ seed });
}
