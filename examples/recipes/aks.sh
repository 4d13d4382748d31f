#!/bin/sh
# The AKS clusters of a subscription, for the provider `command`. Needs az, jq, and kubelogin for clusters with Entra ID.
#
#     --command-program ./aks.sh --allow-exec kubelogin
set -eu

list=$(az aks list --output json)
# No list is not the same as an empty one.
[ -n "$list" ]
printf '%s' "$list" | jq -e 'type == "array"' >/dev/null
clusters=$(printf '%s' "$list" | jq -c '.[] | {
    group: .resourceGroup,
    cluster: .name,
    off: (if .powerState.code == "Stopped" then "Stopped" elif .provisioningState == "Creating" then "Creating" else null end),
    line: {
        name: "\(.resourceGroup)/\(.name)",
        uid: (.resourceUid // .id),
        labels: .tags,
        properties: {version: .kubernetesVersion, location}
    }
}')
[ -n "$clusters" ] || exit 0
while IFS= read -r cluster; do
    of() { printf '%s' "$cluster" | jq -r "$1"; }
    if [ "$(of .off)" != null ]; then
        of '.line + {unusable: "the cluster is \(.off)"} | tojson'
    elif kubeconfig=$(az aks get-credentials --resource-group "$(of .group)" --name "$(of .cluster)" --format exec --file - </dev/null); then
        # A controller cannot type a code into a browser; it comes as whoever az has logged in.
        kubeconfig=$(printf '%s' "$kubeconfig" | sed 's/^\( *- \)devicecode$/\1azurecli/')
        printf '%s' "$cluster" | jq -c --arg kubeconfig "$kubeconfig" '.line + {kubeconfig: $kubeconfig}'
    else
        of '.line + {unusable: "`az aks get-credentials` fails for it"} | tojson'
    fi
done <<END
$clusters
END
