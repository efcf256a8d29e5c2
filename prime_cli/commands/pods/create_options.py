"""Options of `prime pods create`, besides those that choose an offer."""

from dataclasses import dataclass
from typing import Annotated

from prime_cli.core.options import Option

MACHINE, POD, TEAM, WAITING = PANELS = ("Machine", "Pod", "Team", "Waiting")
"""Headings of the help of `prime pods create`, in their order."""


@dataclass(frozen=True)
class OfferName:
    """The offer that is named, by one id or the other."""

    id: Annotated[
        str | None, Option("The id of an offer in `prime availability list`.", metavar="ID")
    ] = None
    cloud_id: Annotated[
        str | None, Option("The provider's id of an offer.", metavar="ID", panel=MACHINE)
    ] = None


@dataclass(frozen=True)
class PodSettings:
    """How the pod is set up; None leaves it to the offer."""

    spot: Annotated[
        bool | None,
        Option(
            "Accept a machine that may be reclaimed at any time.",
            names=("--spot/--no-spot",),
            panel=MACHINE,
        ),
    ] = None
    name: Annotated[
        str | None,
        Option(
            "Letters, digits and dashes.",
            metavar="NAME",
            show_default="from the GPU type",
            panel=POD,
        ),
    ] = None
    disk_size: Annotated[
        int | None, Option("Size of its disk.", metavar="GB", panel=MACHINE, least=1)
    ] = None
    vcpus: Annotated[int | None, Option("Its vCPUs.", metavar="N", panel=MACHINE, least=1)] = None
    memory: Annotated[int | None, Option("Its memory.", metavar="GB", panel=MACHINE, least=1)] = (
        None
    )
    image: Annotated[
        str | None, Option("One of the offer's images.", metavar="IMAGE", panel=POD)
    ] = None
    custom_template_id: Annotated[
        str | None, Option("Your template, with --image custom_template.", metavar="ID", panel=POD)
    ] = None
    disks: Annotated[
        tuple[str, ...], Option("A disk to attach; repeatable.", metavar="DISK", panel=POD)
    ] = ()
    env: Annotated[
        tuple[str, ...],
        Option(
            "A variable for its processes, KEY alone from your environment; may be repeated.",
            metavar="KEY[=VALUE]",
            panel=POD,
        ),
    ] = ()
    life: Annotated[
        str | None,
        Option(
            "Terminate it after this time, such as 90m, 2h, 3d.",
            names=("--for",),
            metavar="TIME",
            show_default="24h if the hub supports it",
        ),
    ] = None
    nodes: Annotated[
        int,
        Option("Number of machines in one cluster.", metavar="N", panel=MACHINE, least=1, most=64),
    ] = 1
    ssh_key: Annotated[
        str | None,
        Option(
            "The only SSH key with access: a file, or its name or id on the hub.",
            metavar="KEY",
            show_default="all of yours",
            panel=POD,
        ),
    ] = None


@dataclass(frozen=True)
class Waiting:
    """Whether and how long to wait until the pod runs; None waits on a terminal."""

    wait: Annotated[
        bool | None,
        Option(
            "Wait until it is running, or return at once.",
            names=("--wait/--no-wait",),
            show_default="wait on a terminal",
            panel=WAITING,
        ),
    ] = None
    timeout: Annotated[str, Option("Maximum time to wait.", metavar="TIME", panel=WAITING)] = "30m"
