/** What people have to be told, as the API shows it. */
import { z } from "zod";
import { page, time, timeOrNull } from "./common.ts";

const notification = z.object({
  id: z.string(),
  kind: z.string().describe("what happened, for example invalid_revision; permanent"),
  at: time,
  data: z.record(z.string(), z.unknown()).describe("what it is about: of invalid_revision commit, errors, first"),
  deliveredAt: timeOrNull.describe("null until every configured receiver has it"),
});
export const notificationPage = page(notification);
