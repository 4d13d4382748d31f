#!/bin/sh
# The k3d clusters of this machine, for the provider `command`. Needs k3d and jq.
#
#     --command-program ./k3d.sh --command-own-files --command-interval 5s
set -eu

list=$(k3d cluster list --output json)
# No list is not the same as an empty one.
[ -n "$list" ]
printf '%s' "$list" | jq -e 'type == "array"' >/dev/null
clusters=$(printf '%s' "$list" | jq -c '.[] | {
    name,
    uid: ([.nodes[]? | select(.role == "server") | .created] | min),
    running: .serversRunning
}')
[ -n "$clusters" ] || exit 0
while IFS= read -r cluster; do
    name=$(printf '%s' "$cluster" | jq -r .name)
    if [ "$(printf '%s' "$cluster" | jq .running)" = 0 ]; then
        how='{unusable: "the cluster is stopped"}' kubeconfig=
    elif kubeconfig=$(k3d kubeconfig get "$name" </dev/null); then
        how='{kubeconfig: $kubeconfig}'
    else
        how='{unusable: "`k3d kubeconfig get` fails for it"}' kubeconfig=
    fi
    printf '%s' "$cluster" | jq -c --arg kubeconfig "$kubeconfig" "{name, uid} + $how"
done <<END
$clusters
END
