import { describe, expect, it } from "vitest";
import { readUid, uidFromBytes, uidToBytes, uuidV7 } from "./uid.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";

describe("instance UIDs", () => {
  it("are 16 bytes and text of each other", () => {
    expect(uidFromBytes(uidToBytes(UID))).toBe(UID);
    expect(uidToBytes(UID.toUpperCase())).toEqual(uidToBytes(UID));
  });
  it.each([15, 17, 0])("of %i bytes name nobody", (length) => {
    expect(uidFromBytes(new Uint8Array(length).fill(1))).toBeUndefined();
  });
  it("of zeros name nobody", () => {
    expect(uidFromBytes(new Uint8Array(16))).toBeUndefined();
    expect(readUid("00000000-0000-0000-0000-000000000000")).toBeUndefined();
  });
  it.each([
    [` ${UID.toUpperCase()} `, UID],
    ["not one", undefined],
    [UID.replaceAll("-", ""), undefined],
    ["", undefined],
  ])("written by others: %j is read as %s", (text, uid) => {
    expect(readUid(text)).toBe(uid);
  });
  it("made by us are version 7, variant 10, of this millisecond", () => {
    const uid = uuidV7(0x0190a1b2c3d4, new Uint8Array(10).fill(0xff));
    expect(uid).toBe("0190a1b2-c3d4-7fff-bfff-ffffffffffff");
  });
  it("throws for a text that is none, because callers only pass checked ones", () => {
    expect(() => uidToBytes("nobody")).toThrow(RangeError);
  });
});
