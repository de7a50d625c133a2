import { expect, test } from "vitest";
import { chooseBaseUrl, downloadUrl } from "./base-url.ts";

const PUBLIC = "https://public.example.com";

test.each([
  ["ws://Fleet.Example.com:80", ["http://fleet.example.com"], "http://fleet.example.com"],
  [
    "ws://fleet.example.com:8080",
    ["http://fleet.example.com", "http://FLEET.example.com:8080"],
    "http://FLEET.example.com:8080",
  ],
  ["wss://fleet.example.com:443", ["https://fleet.example.com/"], "https://fleet.example.com"],
  ["wss://fleet.example.com", ["https://fleet.example.com:443"], "https://fleet.example.com:443"],
  ["https://fleet.example.com:443", ["http://fleet.example.com:443"], "http://fleet.example.com:443"],
  ["ws://[2001:DB8::1]:8080", ["http://[2001:db8::1]:8080"], "http://[2001:db8::1]:8080"],
  ["ws://a.example.com:80", ["http://a.example.com", "http://A.example.com:80"], "http://a.example.com"],
  ["wss://fleet.example.com:443", ["http://fleet.example.com"], PUBLIC],
  ["ws://other.example.com:80", ["http://fleet.example.com"], PUBLIC],
  ["ws://fleet.example.com:80", [], PUBLIC],
  ["not a url", ["http://fleet.example.com"], PUBLIC],
  ["", ["http://fleet.example.com"], PUBLIC],
  [undefined, ["http://fleet.example.com"], PUBLIC],
])("an updater that reached %s may use %j: it downloads from %s", (endpoint, bases, expected) => {
  expect(chooseBaseUrl(endpoint, bases, PUBLIC)).toBe(expected);
});

test("the url of an archive is below the artifact's path", () => {
  expect(downloadUrl(PUBLIC, "id", "a_1_linux_amd64.tar.gz")).toBe(
    "https://public.example.com/api/v1/artifacts/id/content/a_1_linux_amd64.tar.gz",
  );
});
