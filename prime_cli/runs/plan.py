"""The plan of a run, made once, printed and saved; and its labels: tags, a note, the commit."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_cap, format_exact, pluralize
from prime_cli.core.process import look_with_git
from prime_cli.core.refs import add_extras
from prime_cli.models.gateway.settings import CALL_SECONDS

_SECONDS = 10.0
_COMMIT = re.compile(r"^# branch\.oid ([0-9a-f]{7,64})$", re.MULTILINE)
# Exclude the output of runs: after the first one every folder would count as changed.
_PATHS = (":/", ":(top,exclude,glob)**/outputs/**")


class Revision(msgspec.Struct, frozen=True):
    """A git commit; `dirty` if files differed from it, including new ones."""

    commit: str
    dirty: bool = False

    def __str__(self) -> str:
        return self.commit[:12] + (", with changes" if self.dirty else "")


def revision_of(folder: Path) -> Revision | None:
    """The commit of the repository containing `folder`; None without one, or without git."""
    options = ("--porcelain=v2", "--branch", "--untracked-files=all")
    status = look_with_git(folder, "status", *options, "--", *_PATHS, timeout=_SECONDS) or ""
    commit = _COMMIT.search(status)
    if commit is None:
        return None
    return Revision(commit[1], any(not line.startswith("#") for line in status.splitlines()))


_LONGEST_TAG = 64
_LONGEST_NOTE = 2000


class RunChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user `by` changed of a run while it went on, and when (ISO 8601 with zone).

    `rollouts` were cancelled, or are run again from `attempt` on. `max_cost` is in USD.
    """

    at: str
    by: str
    action: str
    concurrency: int | None = None
    max_cost: float | None = None
    rollouts: tuple[tuple[int, int], ...] = ()
    attempt: int | None = None

    @property
    def words(self) -> str:
        """`pause`, `set -c 8 --max-cost 5`, `cancel 3:0 3:1`."""
        flags = (("-c", self.concurrency), ("--max-cost", self.max_cost))
        options = (f"{flag} {format_exact(value)}" for flag, value in flags if value is not None)
        pairs = (f"{example}:{rollout}" for example, rollout in self.rollouts)
        return " ".join((self.action, *options, *pairs))


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Tags and a note given by a person, and the commit that the code was at."""

    tags: tuple[str, ...] = ()
    note: str | None = None
    revision: Revision | None = None

    def over(self, before: "Labels") -> "Labels":
        """These applied on a resume: tags add up, the first commit stays."""
        return Labels(
            tags=tuple(dict.fromkeys((*before.tags, *self.tags))),
            note=before.note if self.note is None else self.note,
            revision=before.revision or self.revision,
        )


UNLABELLED = Labels()


def check_labels(tags: tuple[str, ...], note: str | None) -> None:
    """Raise UsageError for unreadable tags or notes."""
    for tag in tags:
        if len(tag) > _LONGEST_TAG or not tag.isprintable():
            raise UsageError(
                f"`--tag` must be a word of at most {_LONGEST_TAG} characters, not {tag[:80]!r}"
            )
    if note is not None and len(note) > _LONGEST_NOTE:
        raise UsageError(f"`--note` can have at most {_LONGEST_NOTE:,} characters")


SCORING_SECONDS = 3600
ROLLOUT_SECONDS = 6 * 3600
BLOCKED_SECONDS = 600
"""Code that never awaits blocks every rollout, so it gets less time than scoring that waits."""

_STEPS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


class Deadlines(msgspec.Struct, frozen=True):
    """In seconds, as requested; None means the default."""

    call: int | None = None
    scoring: int | None = None
    rollout: int | None = None

    @property
    def call_seconds(self) -> int:
        """For one attempt at a model call."""
        return self.call or CALL_SECONDS

    @property
    def scoring_seconds(self) -> int:
        """For scoring one rollout, or a group scored together."""
        return self.scoring or SCORING_SECONDS

    @property
    def blocked_seconds(self) -> int:
        """For environment code that blocks everything else."""
        return self.scoring or BLOCKED_SECONDS

    @property
    def rollout_seconds(self) -> int:
        """For one rollout including scoring."""
        return self.rollout or ROLLOUT_SECONDS

    def over(self, before: "Deadlines") -> "Deadlines":
        """These, falling back to those of `before`."""
        return Deadlines(
            self.call or before.call,
            self.scoring or before.scoring,
            self.rollout or before.rollout,
        )

    def __str__(self) -> str:
        call, scoring = span_text(self.call_seconds), span_text(self.scoring_seconds)
        return f"call {call}, scoring {scoring}, rollout {span_text(self.rollout_seconds)}"


def span_text(seconds: int) -> str:
    """Seconds in the largest unit that divides them: `30m`, `90s`."""
    return next(f"{seconds // step}{unit}" for step, unit in _STEPS if seconds % step == 0)


CONCURRENCY = 32
ALL = -1
"""The `num_examples` that means every example."""


class RunEnvironment(msgspec.Struct, frozen=True):
    """The environment as its wheel names it.

    `ref` is `owner/name@version` if it came from a hub, else `path` is the folder or wheel.
    `module` is what to import, `sha256` that of the wheel. `extras` are those that are installed.
    """

    name: str
    version: str
    module: str
    sha256: str
    ref: str | None = None
    path: str | None = None
    extras: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def slug(self) -> str:
        """`owner/name`, or the bare name of a local one."""
        return self.ref.split("@")[0] if self.ref else self.name

    @property
    def title(self) -> str:
        """A readable title: the reference, else name and version."""
        return self.ref or f"{self.name}@{self.version}"


_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a run's examples, numbered from 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        """The one that is written `I/N`; raises UsageError."""
        match = _SHARD.fullmatch(text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"`{text[:80]}` is not one of N parts",
                hint="count from 1, as in `--shard 2/8`, or take the number from Slurm, "
                "Kubernetes or SkyPilot: `--shard auto`",
            )
        return cls(int(match[1]), int(match[2]))

    def of(self, examples: Sequence[int]) -> Sequence[int]:
        """Its part of `examples`; every `count`-th, so that a run which grows keeps its parts."""
        return examples[self.number - 1 :: self.count]

    def share(self, whole: int) -> int:
        """Its part of `whole` units; those of all parts add up to `whole`."""
        return whole * self.number // self.count - whole * (self.number - 1) // self.count

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class EvalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a run does; holds no key.

    `endpoint` is the base URL, or `builtin`, `key_var` the variable with its key. `sampling` is
    sent with every call. `concurrency` counts rollouts, `max_cost` USD and `token_budget` tokens,
    both of all sessions together. `options` are non-default flags without a field of their own, by
    name.
    """

    environment: RunEnvironment
    model: str
    endpoint: str
    num_examples: int
    rollouts_per_example: int
    sampling: dict[str, Any]
    env_args: dict[str, Any] = {}
    extra_args: dict[str, Any] = {}
    independent_scoring: bool = False
    seed: int | None = None
    verifiers: str | None = None
    python: str | None = None

    state_columns: tuple[str, ...] = ()
    concurrency: int = CONCURRENCY
    max_retries: int = 0
    max_error_rate: float = 0.0
    fail_fast: bool = True
    headers: tuple[str, ...] = ()
    key_var: str | None = None
    env_vars: tuple[str, ...] = ()
    sandbox: bool = False
    allow_net: bool = False
    only_gateway: bool = False
    max_cost: float | None = None
    token_budget: int | None = None
    deadlines: Deadlines = Deadlines()
    cache: bool = False
    options: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET

    def option(self, name: str, default: Any = None) -> Any:
        """One of `options`; a tuple where the default is one, which JSON has as a list."""
        found = default if self.options is msgspec.UNSET else self.options.get(name, default)
        return tuple(found) if isinstance(default, tuple) else found

    def with_option(self, name: str, value: Any) -> "EvalPlan":
        """The same with one of `options`; None removes it."""
        options = {} if self.options is msgspec.UNSET else dict(self.options)
        options.pop(name, None)
        if value is not None:
            options[name] = value
        return msgspec.structs.replace(self, options=options or msgspec.UNSET)

    @property
    def example_numbers(self) -> frozenset[int] | None:
        """The examples chosen by their numbers in the dataset; None for the first ones."""
        text = self.option("examples")
        return None if text is None else frozenset(example_numbers(text))

    @property
    def shard(self) -> Shard | None:
        """The part of the examples that is run; None for all of them."""
        text = self.option("shard")
        return None if text is None else Shard.read(str(text))

    @property
    def ray(self) -> str | None:
        """The address of the Ray cluster that the run uses; None for this machine alone."""
        text = self.option("ray")
        return None if text in (None, "none") else str(text)

    def lines(self) -> list[tuple[str, str]]:
        """The plan as labelled lines, one decision each."""
        every = self.num_examples == ALL
        examples = "all examples" if every else pluralize(self.num_examples, "example")
        lines = [
            ("Environment", add_extras(self.environment.title, self.environment.extras or ())),
            ("Model", f"{self.model} at {self.endpoint}" + self._key()),
            ("Rollouts", f"{examples} x {self.rollouts_per_example:,}"),
            ("Concurrency", str(self.concurrency)),
            ("Deadlines", str(self.deadlines)),
        ]
        if self.max_cost is not None:
            lines.append(("Cost", f"at most {format_cap(self.max_cost)}"))
        if self.token_budget is not None:
            lines.append(("Tokens", f"at most {self.token_budget:,}"))
        if self.only_gateway:
            lines.append(("Network", "none but the gateway"))
        if self.cache:
            lines.append(("Cache", "answers are kept, and given again for the same request"))
        for label, values in (("Sampling", self.sampling), ("Arguments", self.env_args)):
            if values:
                lines.append((label, msgspec.json.encode(values).decode()))
        options = {} if self.options is msgspec.UNSET else self.options
        lines += [(_label(name), _text(value)) for name, value in options.items()]
        return lines

    def _key(self) -> str:
        return f", with the key in {self.key_var}" if self.key_var else ""


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shard_text(plan: EvalPlan) -> str | None:
    """The part that a run is, as its plan says: for people; None for a whole run."""
    text = plan.option("shard")
    return None if text is None else str(text)[:20]


def example_numbers(text: str) -> list[int]:
    """The numbers of `3,7,10-20`, as parse_examples writes them."""
    spans = (part.partition("-") for part in text.split(","))
    return [number for low, _, high in spans for number in range(int(low), int(high or low) + 1)]


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def resume_command(run_id: str, plan: EvalPlan) -> str:
    """The command to type in the folder where the run was started.

    Header values are not kept, since they may be secrets, and must be given again. An evaluation
    within a training goes on with that.
    """
    if (training := plan.option("training")) is not None:
        return f"prime train --resume {training}"
    headers = "".join(f" --header '{name}: …'" for name in plan.headers)
    outputs = plan.option("output_dir")
    place = f" --output-dir {shlex.quote(outputs)}" if outputs else ""
    return f"prime eval run --resume {run_id}{place}{headers}"
