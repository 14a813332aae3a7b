#!/bin/sh
# install.sh rolls the image of PLIMSOLL_VERSION out and waits until every replica runs it. With RELEASE and CHART in the
# environment it is a Helm upgrade with values.yaml; otherwise the image of a deployment is set.
set -eu
image="${IMAGE:-mattermost/mattermost-team-edition}"
if [ -n "${RELEASE:-}" ]; then
  helm upgrade "$RELEASE" "$CHART" --namespace "$NAMESPACE" --reuse-values --values "$(dirname "$0")/values.yaml" \
    --set "image.tag=$PLIMSOLL_VERSION" --wait --timeout 15m
else
  kubectl --namespace "$NAMESPACE" set image "deployment/$DEPLOYMENT" "$CONTAINER=$image:$PLIMSOLL_VERSION"
fi
kubectl --namespace "$NAMESPACE" rollout status "deployment/$DEPLOYMENT" --timeout=15m
