/** Bundles the workflows ahead of time, for an image whose folder cannot be written when it runs. */
import { workflowBundle } from "../src/bin/roles/workflow-bundle.ts";

const say = (fields: object, message: string): void => console.log(message, JSON.stringify(fields));
await workflowBundle({ info: say, warn: say });
