import { describe, expect, it } from "vitest";
import { FAULT_NAMES, faultFor, parseFault, type Fault, type FaultKind } from "./fault.ts";

const firstFor = (faults: Fault[], host: string, version?: string): FaultKind | undefined =>
  faultFor(
    faults.filter(({ hosts }) => hosts.test(host)),
    FAULT_NAMES,
    { version },
  )?.kind;

describe("scripted faults", () => {
  it.each([
    ["sim-0003:fail@verifying", "sim-0003", undefined, true],
    ["sim-*:silent", "sim-0017", "0.162.0", true],
    ["sim-*:silent", "other-0017", undefined, false],
    ["sim-00?7:rolled_back=v0.162.0", "sim-0017", "0.162.0", true],
    ["sim-*:rolled_back=0.162.0", "sim-0017", "0.161.0", false],
    ["web.example-*:offline", "webXexample-1", undefined, false],
  ])("%s for %s with %s: %s", (text, host, version, fits) => {
    expect(firstFor([parseFault(text)], host, version) !== undefined).toBe(fits);
  });
  it.each(["sim-1", "sim-1:explode", "sim-1:fail@flying", "sim-1:fail=162", ":silent", "a b:silent"])(
    "%s is refused",
    (text) => {
      expect(() => parseFault(text)).toThrow(TypeError);
    },
  );
  it("the first that fits counts", () => {
    const faults = ["sim-1:vanish", "sim-*:silent"].map(parseFault);
    expect(firstFor(faults, "sim-1")).toBe("vanish");
    expect(firstFor(faults, "sim-2")).toBe("silent");
  });
});
