/** Does a delivery prove that it comes from the forge? (decisions, Webhook) */

export type Verdict = "accepted" | "refused";
export type Delivery = {
  /** Header values as they came: a header sent twice has two. */
  gitlabTokens: readonly string[];
  githubSignatures: readonly string[];
  /** The raw bytes of the body. */
  body: Uint8Array;
};
export type Proofs = {
  hmacSha256: (secret: string, body: Uint8Array) => Uint8Array;
  /** Compares in constant time; different lengths are unequal. */
  equal: (a: Uint8Array, b: Uint8Array) => boolean;
};

/**
 * At least one signature header must be there, none twice, and each that is there must verify, also beside one that does.
 * Headers of SHA-1 alone count as none.
 */
export function judgeDelivery(delivery: Delivery, secret: string, proofs: Proofs): Verdict {
  const { gitlabTokens, githubSignatures, body } = delivery;
  if (secret === "" || gitlabTokens.length > 1 || githubSignatures.length > 1) return "refused";
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const checks: boolean[] = [
    ...gitlabTokens.map((token) => proofs.equal(encode(token), encode(secret))),
    ...githubSignatures.map((signature) => {
      const hex = /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1];
      return hex !== undefined && proofs.equal(bytesOf(hex), proofs.hmacSha256(secret, body));
    }),
  ];
  return checks.length > 0 && checks.every(Boolean) ? "accepted" : "refused";
}

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
