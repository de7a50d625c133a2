/** A certificate authority that lives as long as a test. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export type Issued = { cert: string; key: string };
export type TestAuthority = {
  /** PEM of the authority itself. */
  ca: string;
  issue: (of: {
    /** Empty: none. */
    commonName: string;
    dns?: string[];
    ip?: string[];
    /** Seconds from now. */
    from?: number;
    until?: number;
  }) => Promise<Issued>;
};

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const crypto: typeof globalThis.crypto = webcrypto;
const at = (seconds: number): Date => new Date(Date.now() + seconds * 1_000);
let serial = 1;
const nextSerial = (): string => (serial++).toString(16).padStart(8, "0");

export async function createTestAuthority(): Promise<TestAuthority> {
  x509.cryptoProvider.set(crypto);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: nextSerial(),
    name: "CN=Test authority",
    notBefore: at(-3_600),
    notAfter: at(3_600),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return {
    ca: authority.toString("pem"),
    async issue({ commonName, dns = [], ip = [], from = -60, until = 3_600 }) {
      const own = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
      const names = [
        ...dns.map((value) => ({ type: "dns" as const, value })),
        ...ip.map((value) => ({ type: "ip" as const, value })),
      ];
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: nextSerial(),
        issuer: authority.subject,
        subject: commonName === "" ? "O=Nobody" : `CN=${commonName}`,
        notBefore: at(from),
        notAfter: at(until),
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
      });
      const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", own.privateKey)).toString("base64");
      const body = key.match(/.{1,64}/g)?.join("\n") ?? "";
      return {
        cert: certificate.toString("pem"),
        key: `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`,
      };
    },
  };
}
