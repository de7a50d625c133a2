/** Which addresses a download may not be led to (design/artifacts, "Fetch and verify"): loopback, private, link-local. */
import { BlockList, isIP } from "node:net";
import { lookup, type LookupAddress, type LookupOptions } from "node:dns";
import { failure } from "../domain/errors.ts";

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv4");
for (const [net, bits] of [
  ["::", 127],
  ["64:ff9b::", 96],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv6");

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Whether an address is one of those; a text that is no address is. */
export function isPrivateAddress(address: string): boolean {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return isPrivateAddress(mapped);
  const family = isIP(address);
  return family === 0 || PRIVATE.check(address, family === 6 ? "ipv6" : "ipv4") || /^::ffff:/i.test(address);
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/** Whether a host is, or resolves to, such an address. */
export async function isPrivateHost(hostname: string): Promise<boolean> {
  const host = bare(hostname);
  if (isIP(host) !== 0) return isPrivateAddress(host);
  const found = await new Promise<LookupAddress[]>((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
  return found.some(({ address }) => isPrivateAddress(address));
}

type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** For `net.connect`: resolves as usual and refuses a private answer, so that a name cannot change between check and use. */
export function publicLookup(hostname: string, options: LookupOptions, callback: Callback): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const refused = addresses.find(({ address }) => isPrivateAddress(address));
    const first = addresses[0];
    if (refused !== undefined || first === undefined)
      return callback(failure("artifact_redirect_refused", { url: hostname, because: "its address is private" }), []);
    return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
  });
}
