/**
 * Whether a container takes the collector of its image (design "Container mode"): an empty volume does, a newer image
 * replaces an older active version, and what a person or the server decided since is not undone by a mere restart.
 */
import { compareVersions } from "./version.ts";

/** `container.imagePrecedence`: which images may replace what is active. */
export const IMAGE_PRECEDENCES = ["newer", "never", "always"] as const;
export type ImagePrecedence = (typeof IMAGE_PRECEDENCES)[number];

/** A collector by its version (no `v`) and the SHA-256 of its binary. */
export type Collector = { version: string; binarySha256: string };

export type SeedFacts = {
  image: Collector;
  /** What would run now; undefined on an empty volume. */
  active: Collector | undefined;
  precedence: ImagePrecedence;
  minimumVersion: string | undefined;
  /** What this volume knows of these very bytes: `ran` healthy here once, or were `taken_back` because they did not. */
  history: SeedHistory;
};
export type SeedHistory = "new" | "ran" | "taken_back";

/** The image as seen from what is active. */
export type SeedRelation = "empty" | "same" | "same_version_other_bytes" | "image_newer" | "image_older";

const SEED = { do: "seed" } as const;
const keep = <const Because extends string>(because: Because) => ({ do: "keep", because }) as const;

const same = keep("the image's collector is active");
const otherBytes = keep("the active version is never overwritten with other bytes");
const older = keep("the active version is newer than the image");
const never = keep("imagePrecedence is never");

/** Before history and floor have their say. Total: a new precedence or relation does not compile without its cells. */
const BY_PRECEDENCE = {
  newer: {
    empty: SEED,
    same,
    same_version_other_bytes: otherBytes,
    image_newer: SEED,
    image_older: older,
  },
  never: { empty: SEED, same, same_version_other_bytes: never, image_newer: never, image_older: never },
  always: {
    empty: SEED,
    same,
    same_version_other_bytes: otherBytes,
    image_newer: SEED,
    image_older: SEED,
  },
} as const satisfies Record<ImagePrecedence, Record<SeedRelation, { do: "seed" } | { do: "keep"; because: string }>>;

const takenBack = keep("this image's collector was taken back before: it did not become healthy");
const superseded = keep("this image's collector ran here already and was replaced since");
const belowFloor = keep("the image is below minimumVersion");

export type SeedDecision =
  | (typeof BY_PRECEDENCE)[ImagePrecedence][SeedRelation]
  | typeof takenBack
  | typeof superseded
  | typeof belowFloor;

/** Decides at each start of a container. An empty volume takes any image: there is nothing else to run. */
export function decideSeed(facts: SeedFacts): SeedDecision {
  const { image, precedence, minimumVersion, history } = facts;
  const relation = relate(image, facts.active);
  const decision = BY_PRECEDENCE[precedence][relation];
  if (decision.do === "keep" || relation === "empty") return decision;
  if (history === "taken_back") return takenBack;
  if (history === "ran" && precedence === "newer") return superseded;
  if (minimumVersion !== undefined && compareVersions(image.version, minimumVersion) < 0) return belowFloor;
  return decision;
}

export function relate(image: Collector, active: Collector | undefined): SeedRelation {
  if (active === undefined) return "empty";
  const order = compareVersions(image.version, active.version);
  if (order !== 0) return order > 0 ? "image_newer" : "image_older";
  return image.binarySha256 === active.binarySha256 ? "same" : "same_version_other_bytes";
}
