#!/bin/sh
# The minikube profiles of this machine, for the provider `command`. Needs minikube and jq.
#
#     --command-program ./minikube.sh --command-own-files --command-interval 10s
set -eu

list=$(minikube profile list --output json)
# No list is not the same as an empty one.
[ -n "$list" ]
printf '%s' "$list" | jq -e '.valid | type == "array"' >/dev/null
printf '%s' "$list" | jq -c '.invalid[]? | {name: .Name, unusable: "minikube calls its profile invalid"}'
profiles=$(printf '%s' "$list" | jq -c '.valid[] | {name: .Name, status: .Status, version: .Config.KubernetesConfig.KubernetesVersion}')
[ -n "$profiles" ] || exit 0
while IFS= read -r profile; do
    name=$(printf '%s' "$profile" | jq -r .name)
    case $(printf '%s' "$profile" | jq -r .status) in
    Running | OK) ;;
    *)
        printf '%s' "$profile" | jq -c '{name, unusable: "the cluster is \(.status)"}'
        continue
        ;;
    esac
    # The kubectl that minikube brings; it reads the kubeconfig that minikube wrote, certificates included.
    if kubeconfig=$(minikube --profile "$name" kubectl -- config view --raw --flatten --minify --context "$name" --output json </dev/null) &&
        printf '%s' "$kubeconfig" | jq -e .clusters >/dev/null; then
        # What minikube notes for itself is nothing to reach a cluster by.
        printf '%s' "$kubeconfig" | jq -c --argjson profile "$profile" '$profile + {
            properties: {version: $profile.version},
            kubeconfig: del(.. | .extensions?)
        } | del(.status, .version)'
    else
        printf '%s' "$profile" | jq -c '{name, unusable: "`minikube kubectl -- config view` fails for it"}'
    fi
done <<END
$profiles
END
