#!/bin/sh
# Creates the namespace once the server answers, with the retention that the rollout pages expect.
set -eu
until temporal operator cluster health >/dev/null 2>&1; do sleep 2; done
if temporal operator namespace describe -n "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace update -n "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create -n "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi
