/** The verdicts of `npm run test:conformance`, one test a question. Skipped, saying so, where the recorded data is not. */
import { describe, expect, it } from "vitest";
import { allChecks, ask, FIXTURES, hasFixtures, isRight } from "../../scripts/conformance-cases.ts";

const present = hasFixtures();
if (!present) console.warn(`skipped: no Sigstore test data at ${FIXTURES}`);
const checks = present ? allChecks() : [];

describe.skipIf(!present)("recorded verdicts", () => {
  it.each(checks)("$group: $name is accepted: $accept, refused on purpose: $onPurpose", async (check) => {
    const answer = await ask(check);
    expect(isRight(check, answer), `exit ${answer.code}: ${answer.line}`).toBe(true);
  });

  it("are all that are known", () => {
    const count = (some: (name: string) => boolean) => checks.filter(({ name }) => some(name)).length;
    // each local bundle is asked for by exact identity and by pattern
    expect([count((name) => name.startsWith("ok-")), count((name) => name.startsWith("bad-"))]).toEqual([10, 40]);
    expect(checks.filter(({ group }) => group === "upstream suite")).toHaveLength(140);
    expect(checks.filter(({ onPurpose }) => onPurpose !== undefined)).toHaveLength(10);
  });
});
