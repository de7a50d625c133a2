import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { createClientAddress } from "./client-address.ts";

const request = (remoteAddress: string | undefined, forwarded?: string) => {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage;
};

describe("the address of a client", () => {
  it.each([
    ["nobody trusted", [], "10.0.0.1", "1.1.1.1", "10.0.0.1"],
    ["not the proxy that asks", ["10.0.0.2"], "10.0.0.1", "1.1.1.1", "10.0.0.1"],
    ["no header", ["10.0.0.1"], "10.0.0.1", undefined, "10.0.0.1"],
    ["one proxy", ["10.0.0.1"], "10.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["what the client wrote itself", ["10.0.0.1"], "10.0.0.1", "9.9.9.9, 1.1.1.1", "1.1.1.1"],
    ["two proxies", ["10.0.0.0/8"], "10.0.0.1", "9.9.9.9, 1.1.1.1, 10.2.3.4", "1.1.1.1"],
    ["only proxies", ["10.0.0.0/8"], "10.0.0.1", "10.9.9.9, 10.2.3.4", "10.9.9.9"],
    ["an IPv4 address as IPv6 has it", ["loopback"], "::ffff:127.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["IPv6", ["fd00::/8"], "fd00::1", "2001:db8::1", "2001:db8::1"],
    ["rubbish of a proxy", ["10.0.0.1"], "10.0.0.1", "unknown", "unknown"],
    ["a connection that is gone", ["10.0.0.1"], undefined, "1.1.1.1", ""],
  ] as const)("%s", (_, trusted, remote, forwarded, address) => {
    expect(createClientAddress(trusted)(request(remote, forwarded))).toBe(address);
  });
});
