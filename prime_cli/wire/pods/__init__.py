"""Pods: machines that are rented, as the published pods API has them."""

from prime_cli.wire.pods.creation import (
    PodCreation,
    PodRequest,
    ProviderChoice,
    TeamChoice,
    Variable,
)
from prime_cli.wire.pods.ending import Endable, Ended
from prime_cli.wire.pods.feature import DEFAULT_LIFE, FEATURE, LONGEST_LIFE
from prime_cli.wire.pods.history import PastPage, PastPod
from prime_cli.wire.pods.log import PodLog, read_log
from prime_cli.wire.pods.pod import (
    Addresses,
    Attached,
    Pod,
    PodPage,
    PodState,
    PodStates,
    PortMapping,
    Resources,
)
from prime_cli.wire.pods.statuses import (
    ACTIVE,
    DELETING,
    ERROR,
    FINISHED,
    INSTALLING,
    PENDING,
    PROVISIONING,
    STOPPED,
    TERMINATED,
    UNKNOWN,
)
from prime_cli.wire.pods.sweeping import Leak, Sweep, Swept

__all__ = [
    "ACTIVE",
    "DEFAULT_LIFE",
    "DELETING",
    "ERROR",
    "FEATURE",
    "FINISHED",
    "INSTALLING",
    "LONGEST_LIFE",
    "PENDING",
    "PROVISIONING",
    "STOPPED",
    "TERMINATED",
    "UNKNOWN",
    "Addresses",
    "Attached",
    "Endable",
    "Ended",
    "Leak",
    "PastPage",
    "PastPod",
    "Pod",
    "PodCreation",
    "PodLog",
    "PodPage",
    "PodRequest",
    "PodState",
    "PodStates",
    "PortMapping",
    "ProviderChoice",
    "Resources",
    "Sweep",
    "Swept",
    "TeamChoice",
    "Variable",
    "read_log",
]
