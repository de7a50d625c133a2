/** What a peer sent is no OpAMP message. The text names the rule, never the content. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

export const malformed = (rule: string, cause?: unknown): Malformed =>
  new Malformed(rule, cause === undefined ? undefined : { cause });
