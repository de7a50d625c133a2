import { describe, expect, test } from "vitest";
import { judgeNotice, noticeState, NOTICE_KINDS, type NoticeFacts } from "./notices.ts";

const NEW = { distribution: "otelcol-contrib", version: "0.163.0" };
const use = (fleet: string, version: string, distribution = NEW.distribution) => ({ fleet, distribution, version });
const nothing: NoticeFacts = { uses: [], runs: [], revoked: [], incomplete: [] };
const bad = { ...NEW, by: "ada", reason: "eats disks" };

describe("release_available", () => {
  test("says which fleets are at what", () => {
    const uses = [
      use("web", "0.161.0"),
      use("edge", "0.161.0"),
      use("core", "0.160.0"),
      use("new", "0.163.0"),
      use("other", "0.1.0", "otelcol"),
    ];
    expect(judgeNotice("release_available", NEW, { ...nothing, uses })).toMatchObject({
      text: "otelcol-contrib 0.163.0 is out; fleets edge, web are at 0.161.0, fleet core is at 0.160.0",
      settled: null,
      fleets: [use("web", "0.161.0"), use("edge", "0.161.0"), use("core", "0.160.0")],
    });
  });
  test("is over when no fleet is older, and when the release was revoked", () => {
    expect(judgeNotice("release_available", NEW, { ...nothing, uses: [use("web", "0.163.0")] })).toMatchObject({
      text: "otelcol-contrib 0.163.0 is out",
      settled: "no fleet of otelcol-contrib is older",
    });
    const uses = [use("web", "0.161.0")];
    expect(judgeNotice("release_available", NEW, { ...nothing, uses, revoked: [bad] }).settled).toBe(
      "it was revoked: eats disks",
    );
  });
});

describe("release_revoked", () => {
  const runs = [
    { ...NEW, fleet: "edge", hosts: 10 },
    { ...NEW, fleet: null, hosts: 2 },
    { ...NEW, version: "0.162.0", fleet: "edge", hosts: 99 },
  ];
  test("says who runs it, and who is still told to", () => {
    const facts = { ...nothing, runs, revoked: [bad], uses: [use("edge", "0.163.0")] };
    expect(judgeNotice("release_revoked", NEW, facts)).toMatchObject({
      text: "otelcol-contrib 0.163.0 was revoked by ada: eats disks; 12 hosts run it: edge 10, unassigned 2; Git still wants it for fleet edge",
      settled: null,
      hosts: [
        { fleet: "edge", hosts: 10 },
        { fleet: null, hosts: 2 },
      ],
    });
  });
  test("stands when nobody runs it, and is over when it is allowed again", () => {
    expect(judgeNotice("release_revoked", NEW, { ...nothing, revoked: [bad] })).toMatchObject({
      text: "otelcol-contrib 0.163.0 was revoked by ada: eats disks; no host runs it",
      settled: null,
    });
    expect(judgeNotice("release_revoked", NEW, { ...nothing, runs }).settled).toBe("it is allowed again");
  });
});

describe("release_too_old", () => {
  const incomplete = [{ ...NEW, message: "release too old or incomplete: .sigstore.json does not exist" }];
  test("says what is missing and who waits for it", () => {
    expect(
      judgeNotice("release_too_old", NEW, { ...nothing, incomplete, uses: [use("edge", "0.163.0")] }),
    ).toMatchObject({
      text: "otelcol-contrib 0.163.0 cannot be installed: release too old or incomplete: .sigstore.json does not exist; Git wants it for fleet edge",
      settled: null,
    });
  });
  test("is over when it could be fetched, or nobody wants it any more; not while it is tried again", () => {
    const uses = [use("edge", "0.163.0")];
    expect(judgeNotice("release_too_old", NEW, { ...nothing, uses }).settled).toBe("it is complete now");
    expect(judgeNotice("release_too_old", NEW, { ...nothing, incomplete }).settled).toBe("no fleet wants it any more");
    const trying = [{ ...NEW, message: "" }];
    expect(judgeNotice("release_too_old", NEW, { ...nothing, uses, incomplete: trying })).toMatchObject({
      text: "otelcol-contrib 0.163.0 cannot be installed; Git wants it for fleet edge",
      settled: null,
    });
  });
});

test("many fleets are counted, not listed", () => {
  const uses = Array.from({ length: 12 }, (_, i) => use(`f${String(i).padStart(2, "0")}`, "0.161.0"));
  expect(judgeNotice("release_available", NEW, { ...nothing, uses }).text).toBe(
    "otelcol-contrib 0.163.0 is out; fleets f00, f01, f02, f03, f04 and 7 more are at 0.161.0",
  );
});

test("what is over is over, also when somebody had acknowledged it", () => {
  const states = [false, true].flatMap((superseded) =>
    [false, true].flatMap((acknowledged) =>
      [null, "over"].map((settled) => noticeState({ superseded, acknowledged }, { settled })),
    ),
  );
  expect(states).toEqual([
    "open",
    "settled",
    "acknowledged",
    "settled",
    "superseded",
    "superseded",
    "superseded",
    "superseded",
  ]);
  expect(NOTICE_KINDS.filter((kind) => judgeNotice(kind, NEW, nothing).settled === null)).toEqual([]);
});
