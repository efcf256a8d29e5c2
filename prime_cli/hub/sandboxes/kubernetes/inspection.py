"""What a cluster really grants a pod: read back from the object that it accepted."""

from decimal import Decimal, InvalidOperation

from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.hub.sandboxes.kubernetes.manifests import USER
from prime_cli.hub.sandboxes.kubernetes.objects import Pod
from prime_cli.hub.sandboxes.kubernetes.settings import ROOT, RUNTIME_CLASS, KubernetesSettings
from prime_cli.hub.sandboxes.provider import SandboxSpec

_SUFFIXES = {
    **{name: Decimal(10) ** power for name, power in (("n", -9), ("u", -6), ("m", -3))},
    **{name: Decimal(1000) ** (at + 1) for at, name in enumerate("kMGTPE")},
    **{f"{name}i": Decimal(1024) ** (at + 1) for at, name in enumerate("KMGTPE")},
    "": Decimal(1),
}


def read_quantity(text: str) -> Decimal:
    """A quantity of Kubernetes, such as `500m` or `2Gi`, as a number. Raises ValueError."""
    number = text.rstrip("numkKMGTPEi") if "e" not in text else text
    try:
        return Decimal(number) * _SUFFIXES[text[len(number) :]]
    except (InvalidOperation, KeyError) as error:
        raise ValueError(f"`{text[:40]}` is not a quantity") from error


def read_limits(pod: Pod, spec: SandboxSpec) -> dict[str, str]:
    """The limits of the accepted pod, by subject; raises EnvironmentFailed if one was dropped or
    raised.
    """
    limits = pod.limits
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
        "processes": "as the node allows (`podPidsLimit` of its kubelet)",
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
