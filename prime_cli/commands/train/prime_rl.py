"""`prime train --engine prime-rl`: its own launcher, in a checkout of the user's."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from prime_cli.commands.eval.summary import relative_path
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.session import Session
from prime_cli.training.engines.prime_rl.run import FILE, plan_prime_rl
from prime_cli.training.request import TrainRequest

_ALLOWED = frozenset(
    (
        "environment arguments model rollouts_per_example max_tokens temperature sampling env_args "
        "extra_args steps batch lr lr_schedule warmup lora lora_alpha lora_targets refill "
        "save_every keep engine engine_dir report dry_run hub_only output_dir output yes quiet "
        "context offline"
    ).split()
)
"""What prime-rl takes: it runs the environment, and needs no other flags of prime for it."""


def check_flags(given: Sequence[str], *, from_file: bool) -> None:
    """Raise UsageError for a flag without effect on prime-rl, by the names of their fields."""
    wrong = [name for name in given if name not in _ALLOWED and not from_file]
    if wrong:
        flags = ", ".join(f"`--{name.replace('_', '-')}`" for name in wrong)
        raise UsageError(
            f"{flags} has no effect on prime-rl, which runs the environment itself",
            hint="set it in a file of your own: `@ mine.toml`, or use `--engine trl`",
        )


def split_words(arguments: Sequence[str], own: Sequence[str]) -> tuple[list[Path], tuple[str, ...]]:
    """The files after `@`, and the words after `--`; raises UsageError or NotFound."""
    before = list(arguments[: len(arguments) - len(own)])
    files = []
    while before:
        if before[0] != "@" or len(before) == 1:
            raise UsageError(
                f"Unexpected argument `{before[0]}`",
                hint="files of prime-rl follow an `@`: `@ mine.toml`",
            )
        files.append(Path.cwd() / before[1])
        if not files[-1].is_file():
            raise NotFound(f"There is no file {before[1]}")
        before = before[2:]
    return files, tuple(own)


class PrimeRlCommand(msgspec.Struct, frozen=True):
    """The folder of the run, prime-rl's configuration in it, and the command that trains."""

    folder: str
    file: str
    command: str


def train_with_prime_rl(
    session: Session,
    requests: Sequence[EvalRequest],
    training: TrainRequest,
    files: Sequence[Path],
    own: tuple[str, ...],
    *,
    dry_run: bool,
) -> None:
    """Check everything with prime-rl's own dry run, then train unless that is all.

    Raises UsageError for several requests.
    """
    if len(requests) > 1:
        raise UsageError(
            f"{len(requests)} environments for prime-rl need a file in its own form",
            hint="list them there as `[[orchestrator.train.source]]`: `@ mine.toml`",
        )
    lookup = session.lookup_context()
    run = plan_prime_rl(requests[0], training, lookup, os.environ, session.progress, files, own)
    output = session.output
    output.warn("prime-rl runs the environment in its own packages, and ends without a verdict")
    run.check(session.progress)
    path = relative_path(str(run.folder))
    command = shlex.join(run.checkout.command(run.all_files, own))
    if not dry_run:
        output.say(f"Starting {command}")
        run.train(os.environ, session.progress)
    record = PrimeRlCommand(str(run.folder), str(run.folder / FILE), command)
    lines = [("file", f"{path}/{FILE}"), ("command", command)]
    if not dry_run:
        lines.append(("weights", f"{path}/prime-rl"))
    output.show(record, lines=lines)
