"""Which cluster makes sandboxes, and where in it: kubectl's configuration, and variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import UsageError

CONTEXT = "PRIME_KUBERNETES_CONTEXT"
NAMESPACE = "PRIME_KUBERNETES_NAMESPACE"
RUNTIME_CLASS = "PRIME_KUBERNETES_RUNTIME_CLASS"
ROOT = "PRIME_KUBERNETES_ROOT"
PROBE_IMAGE = "PRIME_KUBERNETES_PROBE_IMAGE"

IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""Set by Kubernetes in each of its pods."""

VARIABLES = (
    "KUBECONFIG", IN_CLUSTER, "KUBERNETES_SERVICE_PORT", CONTEXT, NAMESPACE, RUNTIME_CLASS, ROOT,
    PROBE_IMAGE,
    "AWS_PROFILE", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG",
)  # fmt: skip
"""What leads to a cluster, its programs that log in included; none contains a key."""

_PROBE_IMAGE = "busybox:1.37"
_NO, _YES = ("", "0", "false", "no"), ("1", "true", "yes")


@dataclass(frozen=True)
class KubernetesSettings:
    """How to reach a cluster.

    Without a `context` it is kubectl's current one, without a `namespace` the context's. A
    `runtime_class` isolates pods further, as gVisor does. `root` has commands run as root in a user
    namespace of the pod; otherwise they run as a user without rights. `probe_image` is what tries
    the network of each pod.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    runtime_class: str | None = None
    root: bool = False
    probe_image: str = _PROBE_IMAGE

    @property
    def where(self) -> str:
        """The cluster, as errors name it."""
        if self.kubeconfig is None:
            return "the cluster of this pod"
        return f"the cluster of the context `{self.context}`" if self.context else "the cluster"


def read_settings(environ: Mapping[str, str] | None = None) -> KubernetesSettings:
    """Raises UsageError if no cluster is configured, or a variable is invalid."""
    environ = os.environ if environ is None else environ
    root = environ.get(ROOT, "").lower()
    if root not in (*_NO, *_YES):
        raise UsageError(f"{ROOT} must be 1 or 0", param=ROOT)
    return KubernetesSettings(
        _find_kubeconfig(environ),
        environ.get(CONTEXT) or None,
        environ.get(NAMESPACE) or None,
        environ.get(RUNTIME_CLASS) or None,
        root in _YES,
        environ.get(PROBE_IMAGE) or _PROBE_IMAGE,
    )


def _find_kubeconfig(environ: Mapping[str, str]) -> str | None:
    """The files that kubectl would read, as in KUBECONFIG; None for the cluster around us."""
    if environ.get("KUBECONFIG"):
        return environ["KUBECONFIG"]
    if environ.get("HOME"):
        usual = Path(environ["HOME"], ".kube", "config")
        if usual.is_file():
            return str(usual)
    if environ.get(IN_CLUSTER):
        return None
    raise UsageError(
        "No Kubernetes cluster is configured: there is neither KUBECONFIG nor ~/.kube/config",
        hint="set KUBECONFIG, and try it with `kubectl auth can-i create pods`",
    )
