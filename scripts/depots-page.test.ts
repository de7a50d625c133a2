/** docs/depots.md tells of a configuration that holds, of metrics that exist, and of all of them. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createTestNode } from "../test/support/depot.ts";
import { parseDepotConfig } from "../src/depot/config.ts";
import { readMetrics } from "../src/depot/metrics.ts";
import { ERRORS } from "../src/domain/errors.ts";

const page = readFileSync(new URL("../docs/depots.md", import.meta.url), "utf8");

test("its configuration holds", () => {
  const [, text = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  expect(parseDepotConfig(text, "depot.yaml")).toMatchObject({ nodeId: "depot-1", bandwidth: { out: 50 * 1024 ** 2 } });
});

test("its codes are codes", () => {
  const codes = Array.from(
    page.matchAll(/^\| `(depot_[a-z]+(?:_[a-z]+)*)`(?: \(\d+\))? \|/gm),
    ([, code = ""]) => code,
  );
  const named = codes.filter((code) => !metricNames.includes(code));
  expect(named.length).toBeGreaterThan(4);
  for (const code of named) expect(Object.keys(ERRORS)).toContain(code);
});

const metricNames = Array.from(page.matchAll(/`(depot_\w+)(?:\{[\w,]+\})?`(?=,| \|)/g), ([, name = ""]) => name).filter(
  (name) => !Object.keys(ERRORS).includes(name),
);

test("its metrics are those of a node, all of them", async () => {
  const it = await createTestNode();
  const { text } = await readMetrics(it.node);
  await it.remove();
  const real = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = ""]) => name);
  expect(metricNames.toSorted()).toEqual(real.toSorted());
});
