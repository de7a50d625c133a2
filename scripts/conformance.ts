/**
 * `npm run test:conformance`: every question of `conformance-cases.ts`, and at the end how many got the known answer.
 * Refusals on purpose are listed: the upstream suite accepts what our rules do not.
 */
import { allChecks, ask, FIXTURES, hasFixtures, isRight, type Check } from "./conformance-cases.ts";
import { recordCounts } from "./counts.ts";

if (hasFixtures()) await main();
else {
  console.log(`conformance: skipped, there is no Sigstore test data at ${FIXTURES}`);
  recordCounts({ passed: 0, failed: 0, skipped: 1 });
}

async function main(): Promise<void> {
  const checks = allChecks();
  const right: Check[] = [];
  for (const check of checks) {
    const answer = await ask(check);
    if (isRight(check, answer)) right.push(check);
    else console.log(`FAILED ${check.group}: ${check.name}: exit ${answer.code}, ${answer.line}`);
  }
  const refused = right.filter(({ onPurpose }) => onPurpose !== undefined);
  for (const { name, onPurpose } of refused) console.log(`refused on purpose: ${name}, ${onPurpose}`);
  for (const group of new Set(checks.map((check) => check.group)))
    console.log(lineOf(group, (it) => it.group === group));
  console.log(lineOf("conformance", () => true));
  const failed = checks.length - right.length;
  recordCounts({ passed: right.length, failed, skipped: 0 });
  process.exitCode = failed > 0 ? 1 : 0;

  function lineOf(name: string, among: (check: Check) => boolean): string {
    const [all, good, expected] = [checks, right, refused].map((some) => some.filter(among).length) as [
      number,
      number,
      number,
    ];
    return `${name}: ${good - expected} passed, ${expected} expected-failed, ${all - good} failed, ${all} total`;
  }
}
