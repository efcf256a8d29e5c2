"""Records of options: their help and parsing are those of hand-written parameters."""

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from prime_cli.commands.base import PLAIN, Command
from prime_cli.commands.options import expand_options, panel_order
from prime_cli.core.options import Only, Option


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Paint:
    """One field of each kind."""

    wall: Annotated[str, Option("Which wall.", names=("--wall", "-w"), metavar="WALL")]
    name: Annotated[str, Option("Its name.")] = "white"
    coats: Annotated[int, Option("How many.", names=("--coats", "-n"), least=1, most=9)] = 2
    price: Annotated[float | None, Option("Per litre.", least=0, metavar="USD")] = None
    folder: Annotated[Path, Option("Where to.", show_default="here")] = Path()
    color: Annotated[Color, Option("Which color.", case_sensitive=False)] = Color.RED
    second: Annotated[Color | None, Option("Another one.", panel="More")] = None
    tags: Annotated[tuple[str, ...], Option("Repeatable.", names=("--tag", "-t"))] = ()
    rooms: Annotated[tuple[str, ...], Option("Where.", names=("--room",))] = ("hall", "den")
    tints: Annotated[tuple[Color, ...] | None, Option("Tints.", names=("--tint",))] = None
    notes: Annotated[list[str] | None, Option("Notes.", names=("--note",))] = None
    dry: Annotated[bool, Option("Wait.", names=("--dry", "-d"))] = False
    gloss: Annotated[bool | None, Option("Gloss.", names=("--gloss/--no-gloss",))] = None
    batch: Annotated[str | None, Option("Batch.", hidden=True)] = None
    site: Annotated[str, Option("Site.", variable="PAINT_SITE", show_default=False)] = "home"
    mixed: bool = False


def by_hand(
    ctx: typer.Context,
    accounts_hub: Annotated[str, typer.Argument(help="Which accounts_hub.")],
    wall: Annotated[str, typer.Option("--wall", "-w", metavar="WALL", help="Which wall.")],
    name: Annotated[str, typer.Option("--name", help="Its name.")] = "white",
    coats: Annotated[int, typer.Option("--coats", "-n", min=1, max=9, help="How many.")] = 2,
    price: Annotated[
        float | None, typer.Option("--price", min=0, metavar="USD", help="Per litre.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="Where to.", show_default="here")
    ] = Path(),
    color: Annotated[
        Color, typer.Option("--color", help="Which color.", case_sensitive=False)
    ] = Color.RED,
    second: Annotated[
        Color | None, typer.Option("--second", help="Another one.", rich_help_panel="More")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", "-t", help="Repeatable.")] = None,
    rooms: Annotated[list[str], typer.Option("--room", help="Where.")] = ["hall", "den"],  # noqa: B006
    tints: Annotated[list[Color] | None, typer.Option("--tint", help="Tints.")] = None,
    notes: Annotated[list[str] | None, typer.Option("--note", help="Notes.")] = None,
    dry: Annotated[bool, typer.Option("--dry", "-d", help="Wait.")] = False,
    gloss: Annotated[bool | None, typer.Option("--gloss/--no-gloss", help="Gloss.")] = None,
    batch: Annotated[str | None, typer.Option("--batch", help="Batch.", hidden=True)] = None,
    site: Annotated[
        str, typer.Option("--site", help="Site.", envvar="PAINT_SITE", show_default=False)
    ] = "home",
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False,
) -> None:
    """Paint a wall."""
    ctx.obj(
        accounts_hub,
        Paint(
            wall=wall,
            name=name,
            coats=coats,
            price=price,
            folder=folder,
            color=color,
            second=second,
            tags=tuple(tags or ()),
            rooms=tuple(rooms),
            tints=tuple(tints) if tints else None,
            notes=notes,
            dry=dry,
            gloss=gloss,
            batch=batch,
            site=site,
        ),
        quiet,
    )


def by_record(
    ctx: typer.Context,
    accounts_hub: Annotated[str, typer.Argument(help="Which accounts_hub.")],
    paint: Paint,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False,
) -> None:
    """Paint a wall."""
    ctx.obj(accounts_hub, paint, quiet)


def _app(function: Callable[..., Any]) -> typer.Typer:
    app = typer.Typer(**PLAIN)
    app.command("paint", cls=Command)(expand_options(function))
    return app


def _run(function: Callable[..., Any], line: str) -> tuple[Any, int, str]:
    """What the command was given, its exit code, and what it printed."""
    given: list[Any] = []
    result = CliRunner().invoke(_app(function), line.split(), obj=lambda *all_: given.extend(all_))
    return given, result.exit_code, result.output


def test_the_help_is_that_of_hand_written_parameters() -> None:
    _, code, text = _run(by_record, "--help")
    assert code == 0
    assert "1<=x<=9" in text
    assert text == _run(by_hand, "--help")[2]


@pytest.mark.parametrize(
    "line",
    [
        "villa -w north",
        "villa --wall north --name teal -n 9 --price 2.5 --folder out --color BLUE --second blue",
        "villa -w north -t a -t b --room attic --tint red --tint blue --note x --note y",
        "villa -w north -d --gloss --batch 7 --quiet",
        "villa -w north --no-gloss --site office",
        "villa",
        "-w north",
        "villa -w north -n 0",
        "villa -w north --coats ten",
        "villa -w north --price -1",
        "villa -w north --color green",
        "villa -w north --no-dry",
        "villa -w north --mixed",
    ],
)
def test_a_line_is_read_as_by_hand_written_parameters(line: str) -> None:
    assert _run(by_record, line) == _run(by_hand, line)


def test_an_option_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAINT_SITE", "mill")
    (_, paint, _), code, _ = _run(by_record, "villa -w north")
    assert (code, paint.site) == (0, "mill")


def test_a_struct_is_a_record_and_two_records_share_a_command() -> None:
    class Roof(msgspec.Struct, frozen=True):
        tiles: Annotated[tuple[int, ...], Option("Tiles.")] = ()
        slope: Annotated[float, Option("Degrees.", least=0, most=90)] = 30

    def build(ctx: typer.Context, paint: Paint, roof: Roof) -> None:
        ctx.obj(paint, roof)

    (paint, roof), code, _ = _run(build, "--wall east --tiles 1 --tiles 2 --slope 45")
    assert code == 0
    assert paint == Paint("east")
    assert roof == Roof((1, 2), 45.0)


def test_a_field_may_be_parsed_from_its_text() -> None:
    def split(texts: list[str]) -> tuple[str, ...]:
        return tuple(size for text in texts for size in text.split(","))

    @dataclass(frozen=True)
    class Order:
        length: Annotated[int | None, Option("In mm.", parse=len)] = None
        sizes: Annotated[tuple[str, ...], Option("Sizes.", names=("--size",), parse=split)] = ()

    def place(ctx: typer.Context, order: Order) -> None:
        ctx.obj(order)

    assert _run(place, "--length abc --size 1,2 --size 3")[0] == [Order(3, ("1", "2", "3"))]
    assert _run(place, "")[0] == [Order()]


def test_a_command_offers_some_fields_of_a_record() -> None:
    def show(
        ctx: typer.Context,
        paint: Annotated[
            Paint, Only("wall", "name", name={"names": ("--title",), "help": "Of it."})
        ],
    ) -> None:
        ctx.obj(paint)

    assert _run(show, "--wall east --title teal")[0] == [Paint("east", name="teal")]
    text = _run(show, "--help")[2]
    assert "Of it." in text
    assert "--site" not in text
    assert _run(show, "--wall east --site mill")[1] == 2


def test_headings_come_in_the_order_that_a_command_has_for_them() -> None:
    fields = [(f"option_{n}", bool, False) for n in range(30)]
    kinds = [
        (name, Annotated[kind, Option("It.", panel="Odd" if n % 2 else "Even")], default)
        for n, (name, kind, default) in enumerate(fields)
    ]
    record = make_dataclass("record", kinds, frozen=True)

    @panel_order("Odd", "Even")
    def show(options: record) -> None:  # type: ignore[valid-type]
        pass

    text = _run(show, "--help")[2]
    assert text.index("\nOptions:") < text.index("\nOdd:") < text.index("\nEven:")


def test_two_options_of_one_name_are_refused_when_the_command_is_read() -> None:
    def build(ctx: typer.Context, paint: Paint, coats: int = 1) -> None:
        ctx.obj(paint, coats)

    with pytest.raises(TypeError, match="`build` has two options named coats"):
        expand_options(build)


def test_a_function_without_a_record_stays_as_it_is() -> None:
    assert expand_options(by_hand) is by_hand
