#!/bin/sh
# The EKS clusters of a region, for the provider `command`. Needs aws and jq.
#
#     --command-program ./eks.sh --command-arg eu-west-1 --allow-exec aws
set -eu
region=$1

list=$(aws eks list-clusters --region "$region" --output json)
# No list is not the same as an empty one.
[ -n "$list" ]
printf '%s' "$list" | jq -e '.clusters | type == "array"' >/dev/null
names=$(printf '%s' "$list" | jq -r '.clusters[]')
for name in $names; do
    # Failing for one cluster is no reason to give up the others, nor to leave it out, which would be to say that it is gone.
    if ! described=$(aws eks describe-cluster --region "$region" --name "$name" --output json); then
        jq -cn --arg name "$region/$name" '{name: $name, unusable: "`aws eks describe-cluster` fails for it"}'
        continue
    fi
    printf '%s' "$described" | jq -c --arg region "$region" '.cluster | {
        name: "\($region)/\(.name)",
        uid: "\(.arn) \(.createdAt)",
        labels: .tags,
        properties: {version, region: $region}
    } + if .endpoint == null then {unusable: "the cluster is \(.status)"} else {access: {
        server: .endpoint,
        "certificate-authority-data": .certificateAuthority.data,
        exec: {
            apiVersion: "client.authentication.k8s.io/v1beta1",
            command: "aws",
            args: ["--region", $region, "eks", "get-token", "--cluster-name", .name, "--output", "json"]
        }
    }} end'
done
