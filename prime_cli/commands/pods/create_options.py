"""Options of `prime pods create`; `prime availability` takes those that choose an offer too."""

from typing import Annotated

import typer

MACHINE, POD, TEAM, WAITING = PANELS = ("Machine", "Pod", "Team", "Waiting")
"""Headings of the help of `prime pods create`, in their order."""

MACHINE, POD, TEAM, WAITING = PANELS = ("Machine", "Pod", "Team", "Waiting")
"""Headings of the help of `prime pods create`, in their order."""

GpuTypeOpt = Annotated[
    str | None,
    typer.Option(
        "--gpu-type",
        metavar="TYPE",
        help="A GPU type: H100_80GB, or h100 for all that start with it.",
    ),
]

GpuCountOpt = Annotated[
    int | None, typer.Option("--gpu-count", min=1, metavar="N", help="Number of GPUs.")
]

RegionsOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--regions",
        "--region",
        rich_help_panel=MACHINE,
        metavar="REGION",
        help="A country or region, such as united_states; repeatable.",
    ),
]

SocketOpt = Annotated[
    str | None,
    typer.Option(
        "--socket", rich_help_panel=MACHINE, metavar="SOCKET", help="A socket: PCIe, SXM4, SXM5 …"
    ),
]

ProviderOpt = Annotated[
    str | None,
    typer.Option("--provider", rich_help_panel=MACHINE, metavar="NAME", help="Only this provider."),
]

MaxPriceOpt = Annotated[
    float | None,
    typer.Option("--max-price", min=0, metavar="USD", help="Maximum price per hour."),
]

SpotOpt = Annotated[
    bool | None,
    typer.Option("--spot/--no-spot", help="Only spot offers, or none of them."),
]


IdOpt = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="The id of an offer in `prime availability list`."),
]

CloudIdOpt = Annotated[
    str | None,
    typer.Option(
        "--cloud-id", rich_help_panel=MACHINE, metavar="ID", help="The provider's id of an offer."
    ),
]

TakeSpotOpt = Annotated[
    bool | None,
    typer.Option(
        "--spot/--no-spot",
        rich_help_panel=MACHINE,
        help="Accept a machine that may be reclaimed at any time.",
    ),
]

NameOpt = Annotated[
    str | None,
    typer.Option(
        "--name",
        rich_help_panel=POD,
        metavar="NAME",
        help="Letters, digits and dashes.",
        show_default="from the GPU type",
    ),
]

DiskSizeOpt = Annotated[
    int | None,
    typer.Option(
        "--disk-size", rich_help_panel=MACHINE, min=1, metavar="GB", help="Size of its disk."
    ),
]

VcpusOpt = Annotated[
    int | None,
    typer.Option("--vcpus", rich_help_panel=MACHINE, min=1, metavar="N", help="Its vCPUs."),
]

MemoryOpt = Annotated[
    int | None,
    typer.Option("--memory", rich_help_panel=MACHINE, min=1, metavar="GB", help="Its memory."),
]

ImageOpt = Annotated[
    str | None,
    typer.Option(
        "--image", rich_help_panel=POD, metavar="IMAGE", help="One of the offer's images."
    ),
]

TemplateOpt = Annotated[
    str | None,
    typer.Option(
        "--custom-template-id",
        rich_help_panel=POD,
        metavar="ID",
        help="Your template, with --image custom_template.",
    ),
]

DisksOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--disks", rich_help_panel=POD, metavar="DISK", help="A disk to attach; repeatable."
    ),
]

EnvOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        rich_help_panel=POD,
        metavar="KEY[=VALUE]",
        help="A variable for its processes, KEY alone from your environment; may be repeated.",
    ),
]

ShareOpt = Annotated[
    bool,
    typer.Option(
        "--share-with-team", rich_help_panel=TEAM, help="Share it with all members of the team."
    ),
]

AddMembersOpt = Annotated[
    bool,
    typer.Option("--add-members", rich_help_panel=TEAM, help="Ask which members to share it with."),
]

MemberOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--member",
        rich_help_panel=TEAM,
        metavar="MEMBER",
        help="A member to share it with: name, e-mail or id; repeatable.",
    ),
]

ForOpt = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="Terminate it after this time, such as 90m, 2h, 3d.",
        show_default="24h if the hub supports it",
    ),
]

NodesOpt = Annotated[
    int,
    typer.Option(
        "--nodes",
        rich_help_panel=MACHINE,
        min=1,
        max=64,
        metavar="N",
        help="Number of machines in one cluster.",
    ),
]

KeyOpt = Annotated[
    str | None,
    typer.Option(
        "--ssh-key",
        rich_help_panel=POD,
        metavar="KEY",
        help="The only SSH key with access: a file, or its name or id on the hub.",
        show_default="all of yours",
    ),
]

WaitOpt = Annotated[
    bool | None,
    typer.Option(
        "--wait/--no-wait",
        rich_help_panel=WAITING,
        help="Wait until it is running, or return at once.",
        show_default="wait on a terminal",
    ),
]

TimeoutOpt = Annotated[
    str,
    typer.Option(
        "--timeout", rich_help_panel=WAITING, metavar="TIME", help="Maximum time to wait."
    ),
]
