"""What a pod's object says: that it runs, why it does not start, or how it ended, and what the
cluster really grants it: read back from the object that it accepted.
"""

from decimal import Decimal, InvalidOperation

from prime_cli.core.errors import EnvironmentFailed, ImagePullFailed, PrimeError, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.hub.sandboxes.kubernetes.manifests import OPEN, UNTRIED, USER
from prime_cli.hub.sandboxes.kubernetes.objects import ContainerState, Pod, Reason
from prime_cli.hub.sandboxes.kubernetes.settings import (
    PROBE_IMAGE,
    ROOT,
    RUNTIME_CLASS,
    KubernetesSettings,
)
from prime_cli.hub.sandboxes.provider import End, SandboxSpec
from prime_cli.wire.sandboxes import ENDED, OOM_KILLED, TIMED_OUT

_OVER = ("Succeeded", "Failed")
_NO_IMAGE = ("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
"""Not `ErrImagePull`: the node tries once more by itself."""
_CANNOT_RUN = (126, 127, 128)
"""Of runtimes that cannot start the first program: containerd has 128, whatever is the reason."""
_NO_START = ("CreateContainerError", "RunContainerError", "CrashLoopBackOff")
_SUFFIXES = {
    **{name: Decimal(10) ** power for name, power in (("n", -9), ("u", -6), ("m", -3))},
    **{name: Decimal(1000) ** (at + 1) for at, name in enumerate("kMGTPE")},
    **{f"{name}i": Decimal(1024) ** (at + 1) for at, name in enumerate("KMGTPE")},
    "": Decimal(1),
}


def is_over(pod: Pod) -> bool:
    """Whether it has ended, and never runs again."""
    return pod.status.phase in _OVER


def is_running(pod: Pod) -> bool:
    """Whether commands can be started in it."""
    return pod.status.phase == "Running" and pod.container.running is not None


def why_not_started(pod: Pod) -> PrimeError | None:
    """The error of a pod that will not start; None while it may.

    ImagePullFailed and UsageError are a wish that cannot be met; others are EnvironmentFailed.
    """
    failure = _why_unfiltered(pod.probe)
    if failure is not None:
        return failure
    if is_over(pod):
        return EnvironmentFailed(f"The pod ended before it ran: {describe_end(pod).sentence}")
    waiting = pod.container.waiting
    if waiting is None or waiting.reason is None:
        return None
    words = _say(waiting)
    if waiting.reason in _NO_IMAGE:
        return ImagePullFailed(
            f"The cluster cannot fetch the image: {words}",
            hint="check the image's name, and the cluster's login to its registry",
        )
    if waiting.reason in _NO_START:
        return EnvironmentFailed(f"The cluster cannot start the image: {words}")
    return None


def _why_unfiltered(probe: ContainerState) -> UsageError | None:
    """The error of a pod whose network is not filtered, or could not be tried."""
    waiting, terminated = probe.waiting, probe.terminated
    code = terminated.exit_code if terminated else 0
    if code == OPEN:
        return UsageError(
            "The cluster does not filter the network of its pods: one with a NetworkPolicy reached "
            "the cluster's own API",
            hint="its network needs a plug-in that applies NetworkPolicy, such as Cilium or Calico",
        )
    if code == UNTRIED:
        why = "it has no `nc` like busybox's"
    elif terminated is not None and code in _CANNOT_RUN:
        why = _say(terminated, f"its /bin/sh cannot be started (exit code {code})")
    elif waiting is not None and waiting.reason in (*_NO_IMAGE, *_NO_START):
        why = _say(waiting)
    else:
        return None
    return UsageError(
        f"The network of pods cannot be tried with the image of the probe: {why}",
        hint=f"set {PROBE_IMAGE} to busybox, or to a copy of it that the cluster can fetch",
    )


def _say(why: Reason, otherwise: str = "no message") -> str:
    """The node's words for why a container waits or has ended."""
    return f"{why.reason}: {why.message or otherwise}"[:2000]


def needs_place(pod: Pod | None) -> bool:
    """Whether no node has taken it."""
    return pod is None or not pod.spec.node_name


def describe_wait(pod: Pod | None) -> str:
    """What a pod that has not started waits for, in the words of the scheduler or the node."""
    if pod is None:
        return "the cluster has made no pod for it"
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return f"{each.reason or 'Unschedulable'}: {each.message or 'no message'}"[:2000]
    waiting = pod.container.waiting
    if waiting is not None and waiting.reason:
        return _say(waiting)
    return f"it is {pod.status.phase.lower()}"


def describe_end(pod: Pod | None) -> End:
    """How a pod ended; None was deleted by somebody else."""
    if pod is None:
        return End(ENDED, "it was deleted from the cluster")
    status = pod.status
    terminated = pod.container.terminated
    if status.reason == "DeadlineExceeded":
        return End(TIMED_OUT, "its time is over")
    if terminated is not None and terminated.reason == "OOMKilled":
        return End(OOM_KILLED, "it ran out of memory")
    if status.reason == "Evicted":
        return End(ENDED, f"its node evicted it: {status.message or 'no message'}"[:2000])
    if status.reason:
        return End(ENDED, f"{status.reason}: {status.message or 'no message'}"[:2000])
    return End(ENDED, "its first process was ended")


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
