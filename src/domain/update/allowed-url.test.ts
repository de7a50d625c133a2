import { describe, expect, it } from "vitest";
import { defaultPrefixes, judgePrefix, judgeRedirect, judgeUrl, serverEndpointAttribute } from "./allowed-url.ts";

const prefixes = ["https://fleet.example.com/api/v1/artifacts"];
const ok = "https://fleet.example.com/api/v1/artifacts/7/content/a.tar.gz";

describe("allowed download URLs", () => {
  it.each([
    ok,
    "https://FLEET.example.com:443/api/v1/artifacts/7/content/a.tar.gz",
    "https://fleet.example.com/api/v1/artifacts/7?x=..",
    "https://fleet.example.com/api/v1/artifacts/..a/b",
  ])("%s is allowed", (url) => {
    expect(judgeUrl(url, prefixes)).toEqual({ allowed: true });
  });

  it.each([
    ["another scheme", "http://fleet.example.com/api/v1/artifacts/7"],
    ["another port", "https://fleet.example.com:8443/api/v1/artifacts/7"],
    ["another host", "https://evil.example.com/api/v1/artifacts/7"],
    ["a host that begins alike", "https://fleet.example.com.evil.org/api/v1/artifacts/7"],
    ["no segment boundary", "https://fleet.example.com/api/v1/artifacts-evil/7"],
    ["the prefix itself", "https://fleet.example.com/api/v1/artifacts/"],
    ["credentials", "https://user:secret@fleet.example.com/api/v1/artifacts/7"],
    ["a user that looks like the host", "https://fleet.example.com@evil.org/api/v1/artifacts/7"],
    ["a climbing path", "https://fleet.example.com/api/v1/artifacts/../../secret"],
    ["a climbing path that comes back", "https://fleet.example.com/api/v1/artifacts/x/../7"],
    ["an encoded climbing path", "https://fleet.example.com/api/v1/artifacts/%2e%2E/7"],
    ["an encoded slash", "https://fleet.example.com/api/v1/artifacts/..%2f7"],
    ["a backslash", "https://fleet.example.com/api/v1/artifacts/..\\7"],
    ["white space that parsers drop", "https://fleet.example.com/api/v1/artifacts/.\t./7"],
    ["another protocol", "file:///api/v1/artifacts/7"],
    ["no URL", "artifacts/7"],
    ["nothing", ""],
  ])("%s is refused", (_, url) => {
    expect(judgeUrl(url, prefixes).allowed).toBe(false);
  });

  it("no text of a refusal repeats credentials or query", () => {
    const verdict = judgeUrl("https://user:hunter2@evil.org/x?token=hunter2", prefixes);
    expect(JSON.stringify(verdict)).not.toContain("hunter2");
    expect(JSON.stringify(judgeUrl("https://evil.org/x?token=hunter2", prefixes))).not.toContain("hunter2");
  });

  it("redirects are judged like the first URL, five at most, never from https to http", () => {
    expect(judgeRedirect(ok, `${ok}2`, 5, prefixes)).toEqual({ allowed: true });
    expect(judgeRedirect(ok, `${ok}2`, 6, prefixes).allowed).toBe(false);
    expect(judgeRedirect(ok, "https://evil.org/api/v1/artifacts/7", 1, prefixes).allowed).toBe(false);
    const both = [...prefixes, "http://fleet.example.com/api/v1/artifacts"];
    expect(judgeRedirect(ok, "http://fleet.example.com/api/v1/artifacts/7", 1, both).allowed).toBe(false);
    expect(judgeRedirect("http://fleet.example.com/api/v1/artifacts/7", ok, 1, both).allowed).toBe(true);
  });

  it.each([
    ["wss://fleet.example.com/v1/opamp", "https://fleet.example.com/api/v1/artifacts/", "wss://fleet.example.com:443"],
    [
      "ws://fleet.example.com:8080/v1/opamp",
      "http://fleet.example.com:8080/api/v1/artifacts/",
      "ws://fleet.example.com:8080",
    ],
    ["ws://fleet.example.com/v1/opamp", "http://fleet.example.com/api/v1/artifacts/", "ws://fleet.example.com:80"],
    ["ws://[::1]:4320/v1/opamp", "http://[::1]:4320/api/v1/artifacts/", "ws://[::1]:4320"],
  ])("endpoint %s gives default prefix and attribute", (endpoint, prefix, attribute) => {
    expect(defaultPrefixes(endpoint)).toEqual([prefix]);
    expect(serverEndpointAttribute(endpoint)).toBe(attribute);
  });

  it.each(["ftp://a/b", "https://u:p@a/b", "https://a/b?c", "https://a/b#c", "https://a/../b", "a/b"])(
    "%s cannot be a configured prefix",
    (prefix) => {
      expect(judgePrefix(prefix).allowed).toBe(false);
    },
  );
});
