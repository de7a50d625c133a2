import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { mintDownloadToken, readDownloadToken } from "./download-token.ts";

const key = randomBytes(32);
const claims = {
  artifact: "0b7e0f54-6c1a-4c52-9f5e-0d7a1f3f2a10",
  agent: "018f2d5c-90ab-7cde-8f01-23456789abcd",
  issuedAtMs: 1_796_000_000_123,
};
const token = mintDownloadToken(key, claims);

describe("download tokens", () => {
  test("a token says for which artifact and which agent it was minted, and when", () => {
    expect(readDownloadToken([key], token)).toEqual(claims);
  });
  test("during a rotation the second key counts too", () => {
    expect(readDownloadToken([randomBytes(32), key], token)).toEqual(claims);
  });
  test("another key's token is no token", () => {
    expect(readDownloadToken([randomBytes(32)], token)).toBeUndefined();
    expect(readDownloadToken([], token)).toBeUndefined();
  });
  test("no flipped bit is accepted, wherever it is", () => {
    const bytes = Buffer.from(token, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(readDownloadToken([key], flipped.toString("base64url"))).toBeUndefined();
    }
  });
  test.each(["", "x", "Bearer x", `${token}=`, `${token}A`, token.slice(1), `${token}\n`, "é".repeat(98)])(
    "%j is no token and no error",
    (text) => expect(readDownloadToken([key], text)).toBeUndefined(),
  );
});
