/** The log: one JSON line per entry, without secrets and without query strings (they may hold a login link). */
import { pino, type DestinationStream, type Logger } from "pino";

const REDACTED = [
  "authorization",
  "cookie",
  "token",
  "secret",
  "password",
  "apiKey",
  "*.authorization",
  "*.cookie",
  "*.token",
  "*.secret",
  "*.password",
  "*.apiKey",
  'headers["set-cookie"]',
  '*.headers["x-gitlab-token"]',
  "req.headers",
  "res.headers",
];

/** `destination` is for tests; the default is stdout. */
export function createLogger(options: { name: string; level: string }, destination?: DestinationStream): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: REDACTED, censor: "[redacted]" },
      serializers: { req: requestLine, err: pino.stdSerializers.err },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}

const requestLine = (request: {
  id?: unknown;
  method?: string;
  url?: string;
  ip?: string;
}): Record<string, unknown> => ({
  id: request.id,
  method: request.method,
  path: request.url?.split("?")[0],
  ip: request.ip,
});
