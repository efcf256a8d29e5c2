"""The objects of a sandbox: a job of one pod, or agent-sandbox's resource; its policy and secret.

Fields of jobs, pods, policies and secrets are those of Kubernetes 1.33; those of `Sandbox` are of
`agents.x-k8s.io` (kubernetes-sigs/agent-sandbox), alike in v1alpha1 and v1beta1.
"""

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from prime_cli.hub.sandboxes.kubernetes.network import Network
from prime_cli.hub.sandboxes.kubernetes.objects import CONTAINER, PROBE, KubernetesObject
from prime_cli.hub.sandboxes.kubernetes.settings import KubernetesSettings
from prime_cli.hub.sandboxes.provider import SandboxSpec

Manifest = dict[str, Any]

LABEL = "prime.sandbox"
"""The label of everything of a sandbox: its value is the tag."""

GROUP = "agents.x-k8s.io"
VERSIONS = ("v1beta1", "v1alpha1")
"""Of agent-sandbox, newest first."""

WORKSPACE = "/workspace"
USER = 1000
_GRACE = 30
"""Seconds that a pod outlives its time, so that its supervisor says why it ends."""
_ENDED_SECONDS = 60
"""How long one that has ended is kept, so that its supervisor sees why."""
_LONGEST_LABEL = 63


def make_pod(spec: SandboxSpec, settings: KubernetesSettings, network: Network) -> Manifest:
    """The pod of a sandbox."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(spec),
        "spec": _pod_spec(spec, settings, network),
    }


def make_job(spec: SandboxSpec, settings: KubernetesSettings, network: Network) -> Manifest:
    """A job of one pod, which is never made again.

    The cluster ends it at its time, also if the pod has no node yet, and deletes it and what it
    owns a moment after its end. A pod alone would stay, and its variables with it.
    """
    pod = make_pod(spec, settings, network)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": pod["metadata"],
        "spec": {
            "activeDeadlineSeconds": _seconds(spec),
            "ttlSecondsAfterFinished": _ENDED_SECONDS,
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": pod["metadata"]["labels"]},
                "spec": pod["spec"],
            },
        },
    }


def make_sandbox(
    spec: SandboxSpec, settings: KubernetesSettings, network: Network, version: str
) -> Manifest:
    """The resource of agent-sandbox, which its controller deletes at its time."""
    shutdown = datetime.fromtimestamp(math.ceil(spec.stop_at) + _GRACE, UTC)
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Sandbox",
        "metadata": _metadata(spec),
        "spec": {
            "podTemplate": {
                "metadata": {"labels": _metadata(spec)["labels"]},
                "spec": _pod_spec(spec, settings, network),
            },
            "shutdownTime": shutdown.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "shutdownPolicy": "Delete",
        },
    }


def make_policy(spec: SandboxSpec, network: Network, owner: Manifest | None) -> Manifest:
    """What the pod may reach; nothing reaches it."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(spec, owner),
        "spec": {
            "podSelector": {"matchLabels": {LABEL: spec.tag}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": list(network.egress),
        },
    }


def make_secret(spec: SandboxSpec, owner: Manifest | None) -> Manifest:
    """Its variables, which may be keys: who sees pods does not see them."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(spec, owner),
        "type": "Opaque",
        "stringData": dict(spec.variables),
    }


def owner_of(manifest: Mapping[str, Any], made: KubernetesObject) -> Manifest:
    """The reference by which the cluster removes what belongs to an object with it."""
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "name": made.metadata.name,
        "uid": made.metadata.uid,
    }


def _metadata(spec: SandboxSpec, owner: Manifest | None = None) -> Manifest:
    labels = {"app.kubernetes.io/managed-by": "prime", LABEL: spec.tag}
    labels |= {f"prime.{name}": _label(value) for name, value in spec.labels.items()}
    metadata: Manifest = {"name": spec.tag, "labels": labels}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return metadata


def _label(value: str) -> str:
    """A value that Kubernetes takes for a label: letters, digits, `-`, `_` and `.`."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", value)[:_LONGEST_LABEL].strip("-._")


def _pod_spec(spec: SandboxSpec, settings: KubernetesSettings, network: Network) -> Manifest:
    found: Manifest = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": _seconds(spec),
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": _pod_security(root=settings.root),
        "initContainers": [probe_container(settings.probe_image, _CONTAINER_SECURITY)],
        "containers": [_container(spec, root=settings.root)],
        "volumes": [
            {"name": "workspace", "emptyDir": {"sizeLimit": str(_bytes(spec.disk_size_gb))}}
        ],
        **network.names,
    }
    if settings.root:
        # Root inside is nobody outside.
        found["hostUsers"] = False
    if settings.runtime_class is not None:
        found["runtimeClassName"] = settings.runtime_class
    return found


def _pod_security(*, root: bool) -> Manifest:
    """As the Pod Security Standard `restricted` wants it, but for the user where it is root."""
    security: Manifest = {"seccompProfile": {"type": "RuntimeDefault"}}
    if root:
        return security | {"runAsUser": 0, "runAsGroup": 0}
    return security | {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
    }


_CONTAINER_SECURITY: Manifest = {
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "capabilities": {"drop": ["ALL"]},
}


def _container(spec: SandboxSpec, *, root: bool) -> Manifest:
    container: Manifest = {
        "name": CONTAINER,
        "image": spec.image,
        "imagePullPolicy": "IfNotPresent",
        # The shell reaps what is left over.
        "command": ["/bin/sh", "-c", f"trap 'exit 0' TERM; sleep {_seconds(spec)} & wait $!"],
        "workingDir": "/root" if root else WORKSPACE,
        "env": [{"name": "HOME", "value": "/root" if root else WORKSPACE}],
        "resources": {
            "limits": {
                "memory": str(spec.memory),
                "cpu": f"{max(1, round(spec.cpu_cores * 1000))}m",
                "ephemeral-storage": str(_bytes(spec.disk_size_gb)),
            }
        },
        "securityContext": _CONTAINER_SECURITY,
        "volumeMounts": [{"name": "workspace", "mountPath": WORKSPACE}],
    }
    if spec.variables:
        container["envFrom"] = [{"secretRef": {"name": spec.tag}}]
    return container


def _seconds(spec: SandboxSpec) -> int:
    """How long the cluster lets it live."""
    return max(1, math.ceil(spec.stop_at - time.time())) + _GRACE


def _bytes(gb: float) -> int:
    return int(gb * 10**9)


# --- The probe ---
# No object says whether a cluster applies a NetworkPolicy, and what the image of a sandbox prints
# would be its owner's word. So each pod has an init container with an image that the hub's admin
# chooses. It shares the pod's network, and ends well once the pod reaches the cluster's own API no
# more: at a private address, which no level reaches. Its exit code is the node's word. The
# sandbox's own container starts only then, as a policy begins to hold a moment after a pod starts.

OPEN, UNTRIED = 1, 3
"""Its exit codes where the API is still reached, and where the image has no `nc` that connects."""

_TRIES = 20

_SCRIPT = f"""\
[ -n "$KUBERNETES_SERVICE_HOST" ] && command -v nc >/dev/null || exit {UNTRIED}
port=$((10000 + $$ % 20000))
nc -l -p $port >/dev/null &
flags="" tries=0
while [ -z "$flags" ]; do
  [ $tries -lt {_TRIES} ] || exit {UNTRIED}
  tries=$((tries + 1))
  sleep 0.2
  for each in "-z -w 1" "-w 1"; do
    ! nc $each 127.0.0.1 $port </dev/null 2>/dev/null || {{ flags=$each; break; }}
  done
done
closed=0 tries=0
while [ $tries -lt {_TRIES} ]; do
  sleep 1 & pause=$!
  if nc $flags "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" </dev/null; then
    closed=0
  else
    closed=$((closed + 1))
  fi
  wait $pause
  [ $closed -lt 3 ] || exit 0
  tries=$((tries + 1))
done
exit {OPEN}
"""
"""Its first connections, to itself, show that `nc` makes one, and how: builds of busybox differ. It
listens below the ports that a kernel gives to whoever asks for any, and may take a while to, with
its twentieth of a CPU.

Each try takes a second, also one that is refused at once, as a new node may do until it knows where
the API is; three in a row have to fail. A pod cannot tell a filter from an API that nobody reaches
for that long, and no cluster starts pods without its API.
"""


def probe_container(image: str, security: dict[str, Any]) -> dict[str, Any]:
    """The init container; its limits, which some clusters want, are within those of any sandbox."""
    return {
        "name": PROBE,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _SCRIPT],
        "resources": {
            "limits": {"memory": "32M", "cpu": "50m", "ephemeral-storage": "16M"},
        },
        "securityContext": security,
    }
