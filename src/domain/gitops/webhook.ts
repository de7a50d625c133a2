/** Does a delivery prove that it comes from the forge? (decisions, Webhook) */

export type Verdict = "accepted" | "refused";
/** Header values as they came: a header sent twice has two. */
export type ProofHeaders = { gitlabTokens: readonly string[]; githubSignatures: readonly string[] };
/** `body`: the raw bytes. */
export type Delivery = ProofHeaders & { body: Uint8Array };
export type Proofs = {
  hmacSha256: (secret: string, body: Uint8Array) => Uint8Array;
  /** Compares in constant time; different lengths are unequal. */
  equal: (a: Uint8Array, b: Uint8Array) => boolean;
};

/**
 * What the headers alone already refuse, so that a stranger's body is not even read: at least one proof must be there, none
 * twice, a token must be right, a signature must look like one. Headers of SHA-1 alone count as none.
 */
export function judgeHeaders(headers: ProofHeaders, secret: string, { equal }: Pick<Proofs, "equal">): Verdict {
  const { gitlabTokens, githubSignatures } = headers;
  if (secret === "" || gitlabTokens.length > 1 || githubSignatures.length > 1) return "refused";
  if (gitlabTokens.length + githubSignatures.length === 0) return "refused";
  const areRight =
    gitlabTokens.every((token) => equal(encode(token), encode(secret))) &&
    githubSignatures.every((signature) => hexOf(signature) !== undefined);
  return areRight ? "accepted" : "refused";
}

/** Each proof that is there must verify, also beside one that does. */
export function judgeDelivery(delivery: Delivery, secret: string, proofs: Proofs): Verdict {
  if (judgeHeaders(delivery, secret, proofs) === "refused") return "refused";
  const isSigned = delivery.githubSignatures.every((signature) => {
    const hex = hexOf(signature);
    return hex !== undefined && proofs.equal(bytesOf(hex), proofs.hmacSha256(secret, delivery.body));
  });
  return isSigned ? "accepted" : "refused";
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const hexOf = (signature: string): string | undefined => /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1];
const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
