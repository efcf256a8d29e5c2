"""What a command promises to programs: its answer, its effects and its exit codes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from prime_cli.core.errors import ExitCode

Answer = Any
"""A type, `module:Type` where its import would cost the command time, or a tuple of these."""


class SideEffect(StrEnum):
    """What a command may do besides answering; `EFFECTS` has a sentence for each."""

    ASKS_HUB = "asks-hub"
    NETWORK = "network"
    WRITES = "writes"
    RUNS_CODE = "runs-code"
    SPENDS = "spends"
    RUNS_PROGRAM = "runs-program"


EFFECTS = {
    SideEffect.ASKS_HUB: "asks the current hub, which may be on another machine",
    SideEffect.NETWORK: "connects to hosts besides the hub",
    SideEffect.WRITES: "changes files here, or data on the hub",
    SideEffect.RUNS_CODE: "may run code of an environment or of a package",
    SideEffect.SPENDS: "may cost money",
    SideEffect.RUNS_PROGRAM: "ends with the exit code of the program that it runs",
}
NETWORK, WRITES, RUNS_CODE, SPENDS, RUNS_PROGRAM = list(SideEffect)[1:]
BUILDS = (NETWORK, WRITES, RUNS_CODE)
"""Of what may build or install packages."""
EVALUATES = (*BUILDS, SPENDS)
"""Of what may also call models."""

_ALWAYS = frozenset(
    {
        ExitCode.OK,
        ExitCode.USAGE,
        ExitCode.NOT_FOUND,
        ExitCode.INTERNAL,
        ExitCode.STORAGE,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    }
)
_BY_EFFECT = {
    SideEffect.ASKS_HUB: {
        ExitCode.NOT_ALLOWED,
        ExitCode.UNREACHABLE,
        ExitCode.CONFLICT,
        ExitCode.INTEGRITY,
    },
    SideEffect.NETWORK: {ExitCode.NOT_ALLOWED, ExitCode.UNREACHABLE},
    SideEffect.WRITES: {ExitCode.CONFLICT, ExitCode.INTEGRITY},
    SideEffect.RUNS_CODE: {ExitCode.NOT_ALLOWED, ExitCode.INTEGRITY, ExitCode.ENVIRONMENT},
    SideEffect.SPENDS: {ExitCode.PARTIAL},
    SideEffect.RUNS_PROGRAM: set(ExitCode),
}


@dataclass(frozen=True)
class Contract:
    """The types that a command may answer with, and of a line of `--output jsonl`."""

    answers: tuple[Answer, ...] = ()
    records: tuple[Answer, ...] = ()
    effects: frozenset[SideEffect] = frozenset()
    exits: frozenset[ExitCode] = frozenset()

    @property
    def sorted_effects(self) -> list[SideEffect]:
        """In the order of EFFECTS."""
        return [each for each in EFFECTS if each in self.effects]

    @property
    def exit_codes(self) -> list[ExitCode]:
        """Those that the command can end with: declared ones, and those of its effects."""
        found = _ALWAYS | self.exits
        return sorted(found.union(*(_BY_EFFECT[each] for each in self.effects)))


def contract(
    *, answer: Answer = (), record: Answer = (), effects: Any = (), exits: Any = ()
) -> Contract:
    """A contract of single values or several; `record` is needed where it is no item of `answer`.

    A list is written as a document of all its items, and as one line for each item.
    """
    answers = _several(answer)
    return Contract(
        answers=answers,
        records=_several(record) or answers,
        effects=frozenset(_several(effects)),
        exits=frozenset(_several(exits)),
    )


def _several(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)
