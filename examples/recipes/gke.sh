#!/bin/sh
# The GKE clusters of a project, for the provider `command`. Needs gcloud, its gke-gcloud-auth-plugin, and jq.
#
#     --command-program ./gke.sh --command-arg my-project --allow-exec gke-gcloud-auth-plugin
set -eu
project=$1

list=$(gcloud container clusters list --format=json --project="$project")
# No list is not the same as an empty one.
[ -n "$list" ]
printf '%s' "$list" | jq -e 'type == "array"' >/dev/null
printf '%s' "$list" | jq -c --arg project "$project" '.[] |
.controlPlaneEndpointsConfig.dnsEndpointConfig as $dns |
{
    name: "\($project)/\(.location)/\(.name)",
    uid: .id,
    labels: .resourceLabels,
    properties: {version: .currentMasterVersion, location}
} + if .endpoint == null then {unusable: "the cluster is \(.status)"} else {access: (
    # The name of a control plane has a certificate of the public authorities, its address one of its own.
    if $dns.allowExternalTraffic then {server: "https://\($dns.endpoint)"}
    else {server: "https://\(.endpoint)", "certificate-authority-data": .masterAuth.clusterCaCertificate} end
    + {exec: {
        apiVersion: "client.authentication.k8s.io/v1beta1",
        command: "gke-gcloud-auth-plugin",
        provideClusterInfo: true
    }}
)} end'
