#!/bin/sh
# reset.sh stops the servers, restores the database by a job, and starts them again. The job is made from the suspended
# CronJob restore-database of the namespace.
set -eu
k() { kubectl --namespace "$NAMESPACE" "$@"; }
k scale "deployment/$DEPLOYMENT" --replicas=0
k wait --for=delete pod --selector "app=$DEPLOYMENT" --timeout=5m
job="restore-$PLIMSOLL_BLOCK-$PLIMSOLL_RUN-$(date +%s)"
k create job "$job" --from=cronjob/restore-database
if ! k wait --for=condition=complete "job/$job" --timeout=25m; then
  k logs "job/$job" --tail=20 >&2
  exit 1
fi
k delete job "$job"
k scale "deployment/$DEPLOYMENT" --replicas="$REPLICAS"
k rollout status "deployment/$DEPLOYMENT" --timeout=5m
