"""What ends the help of a command: what is known of the words given, and its answer's fields."""

from textwrap import fill, shorten
from typing import Any

from prime_cli.commands.json_schema import field_names

_MOST_OF_FIELDS = 145
"""Letters of the names of an answer's fields in a help, which are two lines."""


def write_added(command: Any, ctx: Any, formatter: Any, words: list[str]) -> None:
    """What the command's `add_help` says of the `words` that were given."""
    find = getattr(command.callback, "add_help", None)
    if find is None:
        return
    given, _, _ = command.make_parser(ctx).parse_args(args=words)
    title, rows = find(given) or ("", [])
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
    elif title:
        formatter.write(f"\n{title}\n")


def write_fields(command: Any, formatter: Any) -> None:
    """The fields of the answer, in at most two lines."""
    promised = getattr(command.callback, "contract", None)
    if promised and promised.answers:
        names = ", ".join(dict.fromkeys(field_names(promised)))
        shown = shorten(f"JSON: {names}", _MOST_OF_FIELDS, placeholder=" …")
        formatter.write(f"\n{fill(shown, formatter.width)}\n")
