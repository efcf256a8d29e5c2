"""Options of `prime pods create`; `prime availability` takes those that choose an offer too."""

from typing import Annotated

import typer

GpuTypeOpt = Annotated[
    str | None,
    typer.Option("--gpu-type", metavar="TYPE", help="H100_80GB, or h100 for all that begin so."),
]

GpuCountOpt = Annotated[
    int | None, typer.Option("--gpu-count", min=1, metavar="N", help="How many GPUs it has.")
]

RegionsOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--regions", "--region", metavar="REGION", help="As united_states; may be repeated."
    ),
]

SocketOpt = Annotated[
    str | None, typer.Option("--socket", metavar="SOCKET", help="PCIe, SXM4, SXM5 and the like.")
]

ProviderOpt = Annotated[
    str | None, typer.Option("--provider", metavar="NAME", help="Of this provider only.")
]

MaxPriceOpt = Annotated[
    float | None,
    typer.Option("--max-price", min=0, metavar="USD", help="Costs at most this per hour."),
]

SpotOpt = Annotated[
    bool | None,
    typer.Option("--spot/--no-spot", help="Only those that may be taken back, or none of them."),
]


IdOpt = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="An id of `prime availability list`.")
]

CloudIdOpt = Annotated[
    str | None, typer.Option("--cloud-id", metavar="ID", help="The provider's own id of an offer.")
]

TakeSpotOpt = Annotated[
    bool | None,
    typer.Option("--spot/--no-spot", help="A machine that may be taken back at any time."),
]

NameOpt = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", help="Letters, digits and dashes.", show_default="made of the GPU"
    ),
]

DiskSizeOpt = Annotated[
    int | None, typer.Option("--disk-size", min=1, metavar="GB", help="Of its own disk.")
]

VcpusOpt = Annotated[int | None, typer.Option("--vcpus", min=1, metavar="N", help="Its vCPUs.")]

MemoryOpt = Annotated[int | None, typer.Option("--memory", min=1, metavar="GB", help="Its memory.")]

ImageOpt = Annotated[
    str | None,
    typer.Option("--image", metavar="IMAGE", help="What runs on it, of the offer's images."),
]

TemplateOpt = Annotated[
    str | None,
    typer.Option(
        "--custom-template-id", metavar="ID", help="Your template, for --image custom_template."
    ),
]

DisksOpt = Annotated[
    list[str] | None,
    typer.Option("--disks", metavar="DISK", help="A disk of yours to attach; may be repeated."),
]

EnvOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="KEY[=VALUE]",
        help="A variable for its processes, KEY alone from your environment; may be repeated.",
    ),
]

ShareOpt = Annotated[
    bool, typer.Option("--share-with-team", help="Let all members of the team use it.")
]

AddMembersOpt = Annotated[
    bool, typer.Option("--add-members", help="Ask which members of the team may use it.")
]

MemberOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--member", metavar="MEMBER", help="A member who may use it: name, email or id; repeat."
    ),
]

ForOpt = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="End it after 90m, 2h, 3d.",
        show_default="24h where the hub can",
    ),
]

NodesOpt = Annotated[
    int, typer.Option("--nodes", min=1, max=64, metavar="N", help="So many such machines as one.")
]

KeyOpt = Annotated[
    str | None,
    typer.Option(
        "--ssh-key",
        metavar="KEY",
        help="The only key that opens it: a file, or its name or id on the hub.",
        show_default="all of yours",
    ),
]

WaitOpt = Annotated[
    bool | None,
    typer.Option(
        "--wait/--no-wait",
        help="Stay until it is up, or leave at once.",
        show_default="wait at a terminal",
    ),
]

TimeoutOpt = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="Wait this long at most.")
]
