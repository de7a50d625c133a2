/** An agent that polls over plain HTTP as the reference client does, one request at a time; a test decides when. */
import { request as plain, type RequestOptions } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { decodeServerToAgent, encodeAgentToServer } from "../../src/protocol/codec.ts";
import { STATE_KEYS } from "../../src/protocol/agent-client.ts";
import type { AgentClient, AgentClientOptions, StateKey } from "../../src/protocol/agent-client.ts";
import { hasBit, SERVER_FLAG } from "../../src/protocol/messages.ts";
import type { AgentToServer, ServerToAgent } from "../../src/protocol/messages.ts";

export type HttpAnswer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Undefined when the body is no ServerToAgent. */
  message: ServerToAgent | undefined;
};

/** Posts bytes; headers may replace the usual ones. */
export function post(
  endpoint: string,
  body: Uint8Array,
  headers: Record<string, string>,
  options: RequestOptions = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const url = endpoint.replace(/^ws/, "http");
    const usual = { "content-type": "application/x-protobuf", "accept-encoding": "gzip" };
    const asked = plain(url, { method: "POST", agent: false, ...options, headers: { ...usual, ...headers } });
    asked.on("error", reject);
    asked.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const packed = Buffer.concat(parts);
        const data = response.headers["content-encoding"] === "gzip" ? gunzipSync(packed) : packed;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, message: read(data) });
      });
    });
    asked.end(body);
  });
}

function read(data: Buffer): ServerToAgent | undefined {
  try {
    return decodeServerToAgent(Buffer.concat([Buffer.of(0), data]));
  } catch {
    return undefined;
  }
}

export type HttpAgent = {
  /** Sends the next message with what changed. Follows a new UID. */
  say: (more?: Partial<AgentToServer>) => Promise<HttpAnswer>;
  uid: () => string;
};

export function httpAgent(of: {
  endpoint: string;
  token: string;
  uid: string;
  capabilities: bigint;
  gzip?: boolean;
  /** Of the first message. */
  sequence?: bigint;
}): HttpAgent {
  let { uid } = of;
  let sequenceNum = of.sequence ?? 0n;
  return {
    uid: () => uid,
    async say(more = {}) {
      const base = { instanceUid: uid, sequenceNum: sequenceNum++, capabilities: of.capabilities, flags: 0n };
      const body = encodeAgentToServer({ ...base, ...more }).subarray(1);
      const headers = { authorization: `Bearer ${of.token}`, ...(of.gzip && { "content-encoding": "gzip" }) };
      const answer = await post(of.endpoint, of.gzip ? gzipSync(body) : body, headers);
      uid = answer.message?.agentIdentification?.newInstanceUid ?? uid;
      return answer;
    },
  };
}

const POLL_MS = 40;

/** The agent's end as tests know it from the WebSocket, but polling: quick, so that no test waits for it. */
export function createPollingClient(options: AgentClientOptions): AgentClient {
  let uid = options.instanceUid;
  let sequenceNum = 0n;
  let connected = false;
  let stopped = false;
  let last: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const unsent = new Set<StateKey>(STATE_KEYS);

  const headers = (): Record<string, string> =>
    typeof options.headers === "function" ? options.headers() : options.headers;
  const poll = async (extra: Partial<AgentToServer> = {}): Promise<void> => {
    const state = options.state();
    const reported = STATE_KEYS.filter((key) => unsent.has(key)).map((key) => [key, state[key]]);
    unsent.clear();
    const base = { instanceUid: uid, sequenceNum: sequenceNum++, capabilities: options.capabilities, flags: 0n };
    const body = encodeAgentToServer({ ...base, ...Object.fromEntries(reported), ...extra }).subarray(1);
    for (;;) {
      const answer = await post(options.endpoint, body, headers()).catch(() => undefined);
      connected = answer?.status === 200;
      if (answer?.status === 200 && answer.message !== undefined) return follow(answer.message);
      // Only these are repeated; whatever else was answered, the message is lost.
      if (stopped || (answer !== undefined && answer.status !== 429 && answer.status !== 503)) return;
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  };
  const follow = (message: ServerToAgent): void => {
    const renamed = message.agentIdentification?.newInstanceUid;
    if (renamed !== undefined) uid = renamed;
    if (renamed !== undefined || hasBit(message.flags, SERVER_FLAG.reportFullState))
      for (const key of STATE_KEYS) unsent.add(key);
    void options.onMessage(message);
  };
  const next = (): void => {
    last = poll().then(() => {
      if (!stopped) timer = setTimeout(next, POLL_MS);
    });
  };
  return {
    get instanceUid() {
      return uid;
    },
    get connected() {
      return connected;
    },
    start: next,
    update(changed) {
      for (const key of changed) unsent.add(key);
    },
    sendFull() {
      for (const key of STATE_KEYS) unsent.add(key);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await last;
      clearTimeout(timer);
      await poll({ agentDisconnect: true });
      connected = false;
    },
  };
}
