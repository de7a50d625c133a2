/** Server-sent events: what pages and scripts follow. A stream resumes after `Last-Event-ID`, or is told to start anew. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { problems } from "../../domain/rest/problem.ts";
import { formatPosition, parsePosition } from "../../store/events.ts";
import type { EventHub, HubEvent } from "../event-hub.ts";

export type EventRouteDeps = {
  hub: EventHub;
  now: () => Date;
  /** Whether the request's credential is still live: asked at each ping. */
  stillLive: (request: FastifyRequest) => Promise<boolean>;
  /** Milliseconds between pings; a page that hears nothing for three of them is not live. */
  pingMs?: number;
};

const PING_MS = 15_000;
/** A reader this far behind is cut off; it resumes from its last event when it can read again. */
const MAX_BACKLOG_BYTES = 1024 ** 2;

export const eventRoutes =
  (deps: EventRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    const open = new Set<() => void>();
    app.addHook("preClose", async () => {
      for (const end of Array.from(open)) end();
    });
    app.route({
      method: "GET",
      url: "/events",
      schema: {
        tags: ["events"],
        summary: "Follow changes as server-sent events",
        description:
          "Events `change` (data: topic, at, …), `ping` every 15 s with the server's time, `reset` when the given id is too old: read everything again. " +
          "Resume with the header Last-Event-ID or the query lastEventId. Kept for ten minutes.",
        querystring: z.object({ lastEventId: z.string().max(64).optional() }),
        headers: z.object({ "last-event-id": z.string().max(64).optional() }),
        produces: ["text/event-stream"],
        response: { 401: problems[401], 503: problems[503] },
      },
      handler: async (request, reply) => {
        const id = request.headers["last-event-id"] ?? request.query.lastEventId;
        const since = id === undefined || id === "" ? undefined : parsePosition(id);
        if (id !== undefined && id !== "" && since === undefined)
          throw failure("invalid_request", { message: "Last-Event-ID is not an id of this stream" });
        await startStream(deps, open, request, reply, since);
      },
    });
  };

async function startStream(
  deps: EventRouteDeps,
  open: Set<() => void>,
  request: FastifyRequest,
  reply: FastifyReply,
  since: ReturnType<typeof parsePosition>,
): Promise<void> {
  const { raw } = reply.hijack();
  raw.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-request-id": request.id,
  });
  let off: () => void = () => undefined;
  let ended = false;
  const end = (): void => {
    ended = true;
    clearInterval(ping);
    off();
    open.delete(end);
    raw.end();
  };
  const write = (text: string): void => {
    if (ended) return;
    raw.write(text);
    if (raw.writableLength > MAX_BACKLOG_BYTES) end();
  };
  const sendPing = (): void => write(frame("ping", { at: deps.now().toISOString() }));
  const ping = setInterval(() => {
    deps.stillLive(request).then(
      (live) => (live ? sendPing() : end()),
      (error: Error) => {
        request.log.warn({ err: error }, "the credential of an event stream could not be checked");
        end();
      },
    );
  }, deps.pingMs ?? PING_MS);
  open.add(end);
  raw.on("close", end);
  try {
    sendPing();
    const stop = await deps.hub.subscribe((event) => write(frameOf(event)), since);
    if (ended) stop();
    else off = stop;
  } catch (error) {
    request.log.error({ err: error }, "an event stream could not be started");
    end();
  }
}

function frameOf(event: HubEvent): string {
  switch (event.kind) {
    case "stored": {
      const { position, topic, at, data } = event.event;
      return `id: ${formatPosition(position)}\n${frame("change", { ...data, topic, at: at.toISOString() })}`;
    }
    case "hint":
      return frame("change", { topic: event.topic, at: event.at.toISOString() });
    case "reset":
      return frame("reset", { at: event.at.toISOString() });
    default:
      return event satisfies never;
  }
}

/** JSON has no raw line breaks, so one data line is enough. */
const frame = (name: string, data: Record<string, unknown>): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
