"""`prime rollouts adapter`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import ForceOpt, local_options, open_session
from prime_cli.core.errors import Conflict
from prime_cli.core.paths import write_atomically
from prime_cli.training import adapters

_PACKAGE = "prime_adapters"
"""The folder that they are copied to, which is imported by this name."""

_FOLDER = Path(adapters.__file__).parent

ADAPTERS = {
    "verl": ("service", "continuation", "verl"),
    "tinker": ("service", "tinker"),
    "rllm": ("service", "continuation", "verl", "rllm"),
    "skyrl": ("service", "continuation", "skyrl"),
    "art": ("service", "art"),
}
"""The files of that folder by trainer."""


class Trainer(StrEnum):
    """A trainer with a program of its own."""

    VERL = "verl"
    TINKER = "tinker"
    RLLM = "rllm"
    SKYRL = "skyrl"
    ART = "art"


class CopiedAdapter(msgspec.Struct, frozen=True):
    """The trainer, and the files that were written."""

    trainer: Trainer
    files: list[str]


@local_options(answer=CopiedAdapter, effects=WRITES)
def adapter(
    ctx: typer.Context,
    trainer: Annotated[Trainer, typer.Argument(help="The trainer.")],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Your training project.")
    ] = Path(),
    *,
    force: ForceOpt = False,
) -> None:
    """Copy a trainer's adapter into a project.

    Writes the package prime_adapters, whose modules let verl, the Tinker cookbook, SkyRL, ART, or
    rLLM's example for verifiers train on rollouts from `prime rollouts serve`. They do not import
    prime, and you may edit them.

    \b
    Example:
      prime rollouts adapter verl
      prime rollouts adapter tinker ./my-training
    \b
    See also: `prime rollouts serve`.
    """
    session = open_session(ctx)
    target = folder / _PACKAGE
    files = _files_of(trainer.value)
    changed = [name for name, content in files.items() if _differs(target / name, content)]
    if changed and not force:
        raise Conflict(
            f"{target / changed[0]} exists, and is another file",
            hint="choose another folder, or overwrite it with `--force`",
        )
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(target / name, content, mode=0o644)
    written = [str(target / name) for name in files]
    session.output.text("\n".join(written), record=CopiedAdapter(trainer, written))
    session.output.hint("docs/training-engines.md has the commands")


def _files_of(name: str) -> dict[str, bytes]:
    """{file name: content} of the adapter `name`; raises KeyError for an unknown one."""
    found = {f"{each}.py": _FOLDER / f"{each}.py" for each in ("__init__", *ADAPTERS[name])}
    if "continuation.py" in found:
        # Here it only names what the TRL engine has.
        found["continuation.py"] = _FOLDER.parent / "engines/trl/prime_trl/conversations.py"
    return {name: path.read_bytes() for name, path in found.items()}


def _differs(path: Path, content: bytes) -> bool:
    return path.exists() and path.read_bytes() != content
