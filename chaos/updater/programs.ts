/**
 * Supervisor and collector of a host, small enough for thousands of starts: shell scripts that keep the rules which matter.
 * The collector runs what the stable path named when it began, and says so; only SIGINT makes the supervisor take its
 * collector along; killed otherwise, it leaves an orphan.
 */
export const BINARY = "otelcol-contrib";

/** Put there by hand; the middle one is active at first, the oldest one is due to be pruned. */
export const BY_HAND = { oldest: "0.159.0", old: "0.160.0" } as const;
export const HEALTHY = "0.161.0";
/** Starts, and its health endpoint never answers 200. */
export const UNHEALTHY = "0.161.1";
/** Offered after everything: a host that was mended takes it. */
export const FOLLOWING = "0.162.0";

export const collectorScript = (version: string): string => `#!/bin/sh
case "$1" in
  --version) echo "${BINARY} version ${version}"; exit 0 ;;
  validate) exit 0 ;;
esac
folder=\${2%/*}
exec 3<>"$folder/never"
echo "$$ ${version}" >"$folder/running.$$"
mv "$folder/running.$$" "$folder/running"
read -r _ <&3
`;

export const SUPERVISOR_SCRIPT = `#!/bin/sh
"$1" --config "$2" &
collector=$!
trap 'kill -TERM "$collector"; wait "$collector"; exit 0' INT
wait "$collector"
`;
