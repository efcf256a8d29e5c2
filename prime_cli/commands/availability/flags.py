"""Options about what a machine has to be, which `availability` and `pods create` share."""

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
