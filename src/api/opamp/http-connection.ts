/**
 * An agent that polls: what connects its requests. What is sent to it waits for the answer to its next request; at most
 * one answer is being made at a time.
 */
import { decodeServerToAgent } from "../../protocol/codec.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import { Connection } from "./connection.ts";
import type { Credential } from "./credentials.ts";

/** Messages that wait for one agent: a few flags and commands; offers are read when they can leave. */
const MAX_WAITING_MESSAGES = 32;

export class HttpConnection extends Connection {
  readonly transport = "http";
  private readonly outbox: ServerToAgent[] = [];
  private readonly onEnd: (connection: HttpConnection, reason: string) => void;
  private ended = false;
  private answering = false;

  constructor(
    credential: Credential,
    address: string,
    nowMs: number,
    onEnd: (connection: HttpConnection, reason: string) => void,
  ) {
    super(credential, address, nowMs);
    this.onEnd = onEnd;
  }

  get open(): boolean {
    return !this.ended;
  }

  get ready(): boolean {
    return this.answering && !this.ended;
  }

  override send(message: ServerToAgent): boolean {
    if (this.ended || this.outbox.length >= MAX_WAITING_MESSAGES) return false;
    this.outbox.push(message);
    return true;
  }

  sendFrame(frame: Uint8Array): boolean {
    return this.send(decodeServerToAgent(frame));
  }

  /** Every answer names the agent: nothing to add. */
  acknowledge(): void {}
  /** Its next request is the sign of life. */
  ping(): void {}

  close(_code: number, reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd(this, reason);
  }

  cut(): void {
    this.close(0, "it was not heard any more");
  }

  /** Until `take`, what is sent leaves with the answer to this request. */
  beginAnswer(): void {
    this.messageAtMs = this.aliveAtMs = performance.now();
    this.answering = true;
  }

  /** The answer: as much of what waits as one message may hold. */
  take(instanceUid: string): ServerToAgent {
    this.answering = false;
    return merge(instanceUid, this.outbox);
  }
}

/** Takes messages off the front. A command or an error excludes everything else: it goes alone, or waits for the next. */
export function merge(instanceUid: string, outbox: ServerToAgent[]): ServerToAgent {
  let answer: ServerToAgent = { instanceUid, flags: 0n, capabilities: 0n };
  for (let first = true; ; first = false) {
    const [next] = outbox;
    if (next === undefined) return answer;
    const isAlone = next.command !== undefined || next.errorResponse !== undefined;
    if (isAlone && !first) return answer;
    outbox.shift();
    if (isAlone) return { ...next, instanceUid };
    // The newest of a kind counts.
    answer = {
      ...answer,
      ...next,
      instanceUid,
      flags: answer.flags | next.flags,
      capabilities: answer.capabilities | next.capabilities,
    };
  }
}
