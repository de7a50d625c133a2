import { expect, it } from "vitest";
import { judgeOpenFiles, openFilesLimit } from "./open-files.ts";

const hosts = (count: number, transport: "websocket" | "http") => Array.from({ length: count }, () => ({ transport }));

it("two connections a host fit or do not, to the last one", () => {
  expect(judgeOpenFiles(hosts(50_000, "websocket"), 16, 100_080)).toBeUndefined();
  expect(judgeOpenFiles(hosts(50_000, "websocket"), 16, 100_079)).toMatch(
    /^50000 hosts that connect need 100080 open files, and this process may have 100079: .*ulimit -n 100080/,
  );
});

it("who polls has one connection of its own", () => {
  const mixed = [...hosts(9_000, "websocket"), ...hosts(1_000, "http")];
  expect(judgeOpenFiles(mixed, 16, 19_080)).toBeUndefined();
  expect(judgeOpenFiles(mixed, 16, 19_079)).toBeDefined();
});

it("this process has a limit, or none", () => {
  expect(openFilesLimit()).toBeGreaterThan(0);
});
