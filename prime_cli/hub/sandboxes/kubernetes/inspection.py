"""What a cluster really grants a pod: read back from the object it accepted, and tried inside."""

from decimal import Decimal, InvalidOperation

from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.hub.sandboxes.kubernetes.manifests import USER
from prime_cli.hub.sandboxes.kubernetes.objects import Pod
from prime_cli.hub.sandboxes.kubernetes.sandbox import PodSandbox
from prime_cli.hub.sandboxes.kubernetes.settings import ROOT, RUNTIME_CLASS, KubernetesSettings
from prime_cli.hub.sandboxes.provider import SandboxSpec

_SUFFIXES = {
    **{name: Decimal(10) ** power for name, power in (("n", -9), ("u", -6), ("m", -3))},
    **{name: Decimal(1000) ** (at + 1) for at, name in enumerate("kMGTPE")},
    **{f"{name}i": Decimal(1024) ** (at + 1) for at, name in enumerate("KMGTPE")},
    "": Decimal(1),
}

_PIDS = (
    "cat /sys/fs/cgroup/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids/pids.max 2>/dev/null "
    "|| echo unknown"
)
_TRY_NETWORK = (
    "command -v bash >/dev/null && command -v timeout >/dev/null || { echo untried; exit; }; "
    "for i in 1 2 3 4 5; do "
    "timeout 2 bash -c "
    "'exec 3<>\"/dev/tcp/$KUBERNETES_SERVICE_HOST/$KUBERNETES_SERVICE_PORT\"' 2>/dev/null "
    "|| { echo closed; exit; }; sleep 1; done; echo open"
)
"""A policy begins to hold a moment after the start of a pod."""

UNTRIED = "asked for by a NetworkPolicy, which could not be tried: the image has no bash"


def read_quantity(text: str) -> Decimal:
    """A quantity of Kubernetes, such as `500m` or `2Gi`, as a number. Raises ValueError."""
    number = text.rstrip("numkKMGTPEi") if "e" not in text else text
    try:
        return Decimal(number) * _SUFFIXES[text[len(number) :]]
    except (InvalidOperation, KeyError) as error:
        raise ValueError(f"`{text[:40]}` is no quantity") from error


def read_limits(pod: Pod, spec: SandboxSpec) -> dict[str, str]:
    """The limits of the accepted pod, by subject; raises EnvironmentFailed if one was dropped or
    raised.
    """
    limits = pod.spec.containers[0].resources.limits if pod.spec.containers else {}
    asked = {
        "memory": Decimal(spec.memory),
        "cpu": Decimal(str(max(1, round(spec.cpu_cores * 1000)))) / 1000,
        "ephemeral-storage": Decimal(int(spec.disk_size_gb * 10**9)),
    }
    found = {name: read_quantity(limits[name]) for name in asked if name in limits}
    for name, most in asked.items():
        if name not in found or found[name] > most:
            raise EnvironmentFailed(
                f"The cluster does not keep the limit of {name}: it made it "
                f"{limits.get(name, 'none')} instead of {most}",
                hint="look for a LimitRange or a webhook that changes pods",
            )
    cpus = float(found["cpu"])
    disk = format_bytes(int(found["ephemeral-storage"]))
    return {
        "memory": format_bytes(int(found["memory"])),
        "cpu": f"{cpus:g} CPU" + ("s" if cpus != 1 else ""),
        "disk": f"{disk} on the node's disk; beyond that the pod is evicted, some seconds later",
        "swap": "as the node allows",
    }


def read_isolation(pod: Pod, settings: KubernetesSettings) -> dict[str, str]:
    """The user and the kernel; raises UsageError if the cluster dropped what was asked for."""
    if settings.root and pod.spec.host_users is not False:
        raise UsageError(
            f"{ROOT} needs user namespaces for pods, which this cluster does not have",
            hint=f"they came with Kubernetes 1.33; unset {ROOT} to run commands without root",
        )
    if pod.spec.runtime_class_name != settings.runtime_class and settings.runtime_class:
        raise UsageError(f"The cluster ignored {RUNTIME_CLASS}={settings.runtime_class}")
    runtime = pod.spec.runtime_class_name
    return {
        "user": "root, in a user namespace of the pod" if settings.root else f"{USER}, not root",
        "kernel": f"by the RuntimeClass `{runtime}`" if runtime else "the node's",
    }


async def read_processes(sandbox: PodSandbox) -> str:
    """How many processes it may have, as its control group says."""
    lines = (await sandbox.read_output(_PIDS)).split()
    number = lines[0][:10] if lines else ""
    return f"at most {number}" if number.isdigit() else "as the node allows: it names no limit"


async def try_network(sandbox: PodSandbox) -> bool:
    """Whether the network of a pod was seen to be filtered; False if that cannot be tried.

    The cluster's own API is at a private address, which no level reaches. Raises UsageError if the
    pod reaches it.
    """
    said = (await sandbox.read_output(_TRY_NETWORK)).strip()
    if said == "open":
        raise UsageError(
            "The cluster does not filter the network of its pods: a pod with a NetworkPolicy "
            "reached the cluster's own API",
            hint="its network needs a plug-in that applies NetworkPolicy, such as Cilium or Calico",
        )
    return said == "closed"
