/** Every workflow that a worker runs. */
export { catchUp } from "./catch-up.ts";
export { reconcile } from "./reconcile.ts";
export { rollout } from "./rollout.ts";
export { wave } from "./wave.ts";
