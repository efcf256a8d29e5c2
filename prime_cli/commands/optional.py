"""What our commands have that Typer's have not.

Options whose value may be left out, as `--resume` and `--resume RUN`: one is told by a metavar in
brackets, as `[RUN]`, and without a value it is `""`. And a hint for flags that cannot be meant.
"""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from typer.core import TyperCommand

from prime_cli.core.errors import UsageError


class Command(TyperCommand):
    """A command that may have such options, and whose help is named where a flag was wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_filled(args, self._optional())))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if error.hint is None and "`-" in error.message:
                error.hint = f"see `{ctx.command_path} --help`"
            raise

    def _optional(self) -> dict[str, str]:
        """The long name by each spelling."""
        found = {}
        for parameter in self.params:
            if (parameter.metavar or "").startswith("[") and parameter.param_type_name == "option":
                long = next(name for name in parameter.opts if name.startswith("--"))
                found.update(dict.fromkeys(parameter.opts, long))
        return found


def _filled(args: list[str], optional: dict[str, str]) -> Iterator[str]:
    """`args` with an empty value where an option is the last word or followed by another one."""
    ended = False
    for word, after in zip_longest(args, args[1:], fillvalue="-"):
        ended = ended or word == "--"
        bare = word in optional and after.startswith("-") and not ended
        yield f"{optional[word]}=" if bare else word
