import { describe, expect, test } from "vitest";
import { candidatesOf, fleetsBehind, MAX_RELEASES, newestFirst, nextLookMs, readReleaseIndex } from "./discovery.ts";

const GITHUB_ATOM = `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/" xml:lang="en-US">
  <id>tag:github.com,2008:https://github.com/open-telemetry/opentelemetry-collector-releases/releases</id>
  <link type="text/html" rel="alternate" href="https://github.com/open-telemetry/opentelemetry-collector-releases/releases"/>
  <link type="application/atom+xml" rel="self" href="https://github.com/open-telemetry/opentelemetry-collector-releases/releases.atom"/>
  <title>Release notes from opentelemetry-collector-releases</title>
  <entry>
    <id>tag:github.com,2008:Repository/1/cmd/opampsupervisor/v0.170.0</id>
    <link rel="alternate" type="text/html" href="https://github.com/open-telemetry/opentelemetry-collector-releases/releases/tag/cmd%2Fopampsupervisor%2Fv0.170.0"/>
    <content type="html">&lt;a href="https://x.example/releases/tag/v9.9.9"&gt;not a release&lt;/a&gt;</content>
  </entry>
  <entry>
    <link rel="alternate" type="text/html" href="https://github.com/open-telemetry/opentelemetry-collector-releases/releases/tag/v0.163.0"/>
  </entry>
  <entry><link rel="alternate" href="https://github.com/o/r/releases/tag/v0.164.0-rc.1"/></entry>
  <entry><link rel="alternate" href="https://gitlab.example/o/r/-/releases/v0.162.0"/></entry>
</feed>`;

describe("an index of releases", () => {
  test.each([
    [
      "Atom of GitHub, GitLab: other programs' tags and candidates are passed over",
      GITHUB_ATOM,
      ["0.163.0", "0.162.0"],
    ],
    [
      "JSON of releases: drafts and candidates do not count",
      JSON.stringify([
        { tag_name: "v0.161.0", draft: false, prerelease: false },
        { tag_name: "v0.164.0", draft: true },
        { tag_name: "v0.163.0", prerelease: true },
        { tag_name: "v0.165.0", upcoming_release: true },
        { tag_name: "v0.162.0", name: "v9.9.9" },
        null,
        7,
      ]),
      ["0.162.0", "0.161.0"],
    ],
    [
      "nginx autoindex",
      '<html>\r\n<head><title>Index of /</title></head><body><pre><a href="../">../</a>\r\n<a href="v0.161.0/">v0.161.0/</a> 01-Jan-2027\r\n<a href="v0.9.0/">v0.9.0/</a>\r\n<a href="latest/">latest/</a><a href="v0.162.0.tar.gz">file</a></pre></body></html>',
      ["0.161.0", "0.9.0"],
    ],
    [
      "Apache autoindex, Python's server",
      `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN"><html><ul><li><a href='./v0.161.0/'>x</a><li><A HREF="/mirror/v0.162.0/">x</A></ul>`,
      ["0.162.0", "0.161.0"],
    ],
    [
      "nginx and Caddy in JSON",
      '[{"name":"v0.161.0","type":"directory"},{"name":"v0.162.0/","is_dir":true}]',
      ["0.162.0", "0.161.0"],
    ],
    ["an empty folder", "<html><body><pre></pre></body></html>", []],
    ["a feed without entries", '<feed xmlns="http://www.w3.org/2005/Atom"></feed>', []],
    ["a byte order mark before it", '\uFEFF[{"tag_name":"v1.0.0"}]', ["1.0.0"]],
  ])("%s", (_, text, versions) => {
    expect(readReleaseIndex(text)).toEqual(versions);
  });

  test.each([
    ["an error page as text", "Not found"],
    ["JSON of an error", '{"message":"API rate limit exceeded"}'],
    ["broken JSON", '[{"tag_name":'],
    ["another XML", '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ["nothing", ""],
  ])("%s is none", (_, text) => {
    expect(readReleaseIndex(text)).toBeUndefined();
  });

  test("names versions in their order, each once, and so many at most", () => {
    expect(newestFirst(["v0.9.0", "v0.10.0/", "v0.10.0", "0.11.0", "v1.0.0-rc.1", "v01.0.0", "v2"])).toEqual([
      "0.10.0",
      "0.9.0",
    ]);
    const many = newestFirst(Array.from({ length: MAX_RELEASES + 10 }, (_, i) => `v0.${i}.0`));
    expect([many.length, many[0]]).toEqual([MAX_RELEASES, `0.${MAX_RELEASES + 9}.0`]);
  });

  test("that was made to be slow to read is read in a moment", () => {
    const evil = `<feed ${"<a ".repeat(400_000)}${"<a href=".repeat(200_000)}`;
    const before = performance.now();
    expect(readReleaseIndex(evil)).toEqual([]);
    expect(performance.now() - before).toBeLessThan(5_000); // linear it takes some 50 ms, quadratic it takes hours
  });
});

describe("what may be news", () => {
  const uses = [
    { fleet: "edge", distribution: "otelcol-contrib", version: "0.161.0" },
    { fleet: "core", distribution: "otelcol-contrib", version: "0.163.0" },
    { fleet: "web", distribution: "otelcol", version: "0.163.0" },
  ];

  test("is newer than what some fleet of the distribution is at, the newest first, five at most", () => {
    const versions = ["0.160.0", "0.161.0", "0.162.0", "0.163.0"];
    expect(candidatesOf(versions, uses)).toEqual([
      { distribution: "otelcol-contrib", versions: ["0.163.0", "0.162.0"] },
    ]);
    const many = ["0.164.0", "0.165.0", "0.166.0", "0.167.0", "0.168.0", "0.169.0"];
    expect(candidatesOf(many, uses)).toEqual([
      { distribution: "otelcol", versions: ["0.169.0", "0.168.0", "0.167.0", "0.166.0", "0.165.0"] },
      { distribution: "otelcol-contrib", versions: ["0.169.0", "0.168.0", "0.167.0", "0.166.0", "0.165.0"] },
    ]);
    expect(candidatesOf(many, [])).toEqual([]);
  });

  test("concerns the fleets that are older, and no others", () => {
    expect(fleetsBehind({ distribution: "otelcol-contrib", version: "0.163.0" }, uses)).toEqual([uses[0]]);
    expect(fleetsBehind({ distribution: "otelcol-k8s", version: "9.0.0" }, uses)).toEqual([]);
  });

  test("is looked for again sooner after a failure, unless the usual time is shorter", () => {
    expect(nextLookMs(21_600_000, false)).toBe(21_600_000);
    expect(nextLookMs(21_600_000, true)).toBe(900_000);
    expect(nextLookMs(60_000, true)).toBe(60_000);
    expect(nextLookMs(0, true)).toBe(0);
  });
});
