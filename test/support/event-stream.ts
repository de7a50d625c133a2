/** Follows the server's events as a script does, and waits for conditions with them: it looks again when something changed. */
export type EventStream = {
  /** Every event `change` so far, the oldest first. */
  changes: Record<string, unknown>[];
  /** What `look` answers, as soon as that is neither false nor undefined; fails at the deadline with what was awaited. */
  until<T>(what: string, look: () => Promise<T | false | undefined>, withinMs: number): Promise<T>;
  close(): Promise<void>;
};

export async function followEvents(url: string, token: string): Promise<EventStream> {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const response = await fetch(`${url}/api/v1/events`, { headers, signal: stop.signal });
  if (response.status !== 200 || response.body === null) throw new Error(`events answered ${response.status}`);
  const changes: Record<string, unknown>[] = [];
  let heard = 0;
  let wake = Promise.withResolvers<void>();
  const reading = read(response.body, ({ event, data }) => {
    if (event === "change") changes.push(data);
    heard += 1;
    wake.resolve();
    wake = Promise.withResolvers();
  });
  const ended = reading.then(() => Promise.reject(new Error("the stream of events ended")));
  ended.catch(() => undefined); // told by whoever waits; at the end nobody does
  return {
    changes,
    until: async (what, look, withinMs) => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error(`not within ${withinMs} ms: ${what}`)), withinMs);
      try {
        for (;;) {
          const [before, next] = [heard, wake.promise];
          const seen = await Promise.race([look(), late.promise]);
          if (seen !== false && seen !== undefined) return seen;
          if (heard === before) await Promise.race([next, ended, late.promise]);
        }
      } finally {
        clearTimeout(timer);
      }
    },
    close: async () => {
      stop.abort();
      await reading.catch(() => undefined);
    },
  };
}

type Frame = { event: string; data: Record<string, unknown> };

async function read(body: ReadableStream<Uint8Array>, take: (frame: Frame) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const field = (name: string): string =>
        frame
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? "";
      take({ event: field("event"), data: JSON.parse(field("data")) as Frame["data"] });
    }
  }
}
