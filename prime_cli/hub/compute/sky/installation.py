"""The user's SkyPilot: its interpreter, and what it can rent."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.errors import (
    Conflict,
    EnvironmentFailed,
    NotFound,
    StorageFailed,
    Unreachable,
    UsageError,
)
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import write_atomically
from prime_cli.core.process import Completed, TimedOut, run
from prime_cli.core.secret_detection import without_secrets
from prime_cli.hub.compute.sky.machines import SkyOffer, read_machines
from prime_cli.wire.codec import decode, encode

TRIED = "0.14.1"
"""The release this was tested with."""

_DRIVER = Path(__file__).parent / "driver" / "run.py"
_INSTALL = f"`uv tool install 'skypilot=={TRIED}'` installs it as `sky`"
_NAMES = ("python", "python3", "python.exe")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CLOUDS = (
    "AWS_", "AZURE_", "ARM_", "CLOUDFLARE_", "CLOUDSDK_", "CUDO_", "DATACRUNCH_", "DIGITALOCEAN_",
    "FLUIDSTACK_", "GOOGLE_", "HYPERBOLIC_", "IBM_", "KUBE", "LAMBDA_", "MITHRIL_", "NEBIUS_",
    "OCI_", "PAPERSPACE_", "RUNPOD_", "SEEWEB_", "SHADEFORM_", "SKYPILOT_", "VAST_", "VERDA_",
    "VSPHERE_", "YOTTA_",
)  # fmt: skip
"""Variables with cloud logins; no other credentials reach SkyPilot."""


@dataclass(frozen=True)
class SkyInstallation:
    """SkyPilot, given by its command, its path, or the folder of its interpreter."""

    command: str

    @property
    def python(self) -> Path:
        """The interpreter that owns SkyPilot; raises NotFound."""
        return find_python(self.command)

    def ask(self, what: str, question: Mapping[str, Any], seconds: float) -> Any:
        """SkyPilot's answer to a query of the driver, as JSON.

        Raises NotFound if it is not installed, EnvironmentFailed with the end of its output if it
        fails or does not answer.
        """
        done = self._run([what], seconds, json.dumps(question))
        try:
            answer = json.loads(done.out)
        except ValueError:
            raise EnvironmentFailed(
                "SkyPilot exited without an answer", detail=done.last_lines()
            ) from None
        if "ok" not in answer:
            detail = answer.get("detail") and f"{answer['detail']}\n{done.last_lines()}"
            raise EnvironmentFailed(sentence(answer), detail=detail and _end_of(detail))
        return answer["ok"]

    def begin(self, what: str, folder: Path) -> None:
        """Launch or end the cluster of `folder` in a separate process, which outlives this one.

        Raises NotFound and EnvironmentFailed if it cannot be started.
        """
        done = self._run([what, str(folder)], 60.0)
        if not done.ok:
            raise EnvironmentFailed("SkyPilot cannot be run", detail=done.last_lines())

    def _run(self, words: Sequence[str], seconds: float, text: str | None = None) -> Completed:
        environment = without_secrets(os.environ, keep=_CLOUDS)
        try:
            return run(
                [self.python, str(_DRIVER), *words], timeout=seconds, input=text, env=environment
            )
        except TimedOut as error:
            raise EnvironmentFailed(
                f"SkyPilot did not answer within {seconds:g} seconds",
                hint="run `sky api status` to see what its server is doing",
                detail=error.partial.last_lines(),
            ) from error
        except OSError as error:
            raise StorageFailed(f"SkyPilot cannot be run: {error.strerror}") from error


def find_python(command: str) -> Path:
    """The interpreter of a SkyPilot command: from its first line, or beside it.

    `command` may also be a folder with the interpreter, directly or in `bin`. Raises NotFound.
    """
    path = Path(command).expanduser()
    if path.is_dir():
        found = _beside(path / "bin") or _beside(path)
    else:
        script = shutil.which(str(path))
        found = None if script is None else _of_script(Path(script))
    if found is None:
        raise NotFound(f"SkyPilot not found at `{command}`", hint=_INSTALL)
    return found


def sentence(answer: Mapping[str, Any]) -> str:
    """Why SkyPilot failed, in one sentence, without its colours."""
    why = _COLOURS.sub("", str(answer.get("failure", "it did not say why")))
    return f"SkyPilot failed: {why.rstrip('.')}"


def _of_script(script: Path) -> Path | None:
    with script.open("rb") as file:
        first = file.readline(4096)
    words = (
        first.decode("utf-8", "replace").removeprefix("#!").split() if first[:2] == b"#!" else []
    )
    if words and Path(words[0]).name == "env":
        named = shutil.which(words[-1])
        return Path(named) if named else None
    if words and Path(words[0]).name.startswith("python"):
        return Path(words[0])
    # A shell that starts Python, if the path is too long for a first line, or a program.
    return _beside(script.resolve().parent)


def _beside(folder: Path) -> Path | None:
    return next((folder / name for name in _NAMES if (folder / name).is_file()), None)


def _end_of(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-20:])


# --- Offers ---

# --- One question at a time ---


def read_cached(
    file: Path,
    key: Sequence[str],
    ask: Callable[[], Any],
    *,
    is_fresh: Callable[[float], bool],
    patience: float,
    now: Callable[[], float] = time.time,
) -> Any:
    """The answer of `ask`, cached in `file` for all processes by `key`.

    `is_fresh` judges the time of a cached answer in seconds since the epoch. A query costs seconds
    and 160 MB, and a minute while SkyPilot's server starts: impatient clients that retry must not
    cause another one. Raises Unreachable if another process has been at it for `patience` seconds,
    and what `ask` raises.
    """
    found = _read_answer(file, key, is_fresh)
    if found is not None:
        return found
    try:
        with locked(file.with_suffix(".lock"), seconds=patience):
            found = _read_answer(file, key, is_fresh)
            if found is None:
                asked_at, found = now(), ask()
                write_atomically(file, encode({"at": asked_at, "of": key, "answer": found}))
            return found
    except Conflict as error:
        raise Unreachable(
            "SkyPilot has not answered yet",
            hint="try again in a minute: its server may still be starting",
        ) from error


def _read_answer(file: Path, key: Sequence[str], is_fresh: Callable[[float], bool]) -> Any:
    with suppress(OSError, UsageError, KeyError, TypeError):
        kept = decode(file.read_bytes(), dict[str, Any])
        if kept["of"] == key and is_fresh(kept["at"]):
            return kept["answer"]
    return None


# --- The catalog ---

_FRESH_SECONDS = 300.0
_ASK_SECONDS = 300.0
"""Catalogs of clouds are fetched on first use."""


@dataclass(frozen=True)
class Catalog:
    """The machines of `infra` (everything SkyPilot may use if empty).

    If another process is already fetching them, waits up to `patience` seconds.
    """

    installation: SkyInstallation
    file: Path
    infra: tuple[str, ...] = ()
    patience: float = _ASK_SECONDS
    now: Callable[[], float] = time.time

    def machines(self) -> list[SkyOffer]:
        """All machines; raises PrimeError if SkyPilot cannot list them."""
        return read_machines(self._answer()["rows"])

    def uploaded(self) -> list[str]:
        """The files with its user's credentials that SkyPilot would copy to each machine."""
        return list(self._answer()["uploaded"])

    def find(self, cloud_id: str) -> SkyOffer:
        """The machine of an offer; raises NotFound."""
        for machine in self.machines():
            if machine.offer.cloud_id == cloud_id:
                return machine
        raise NotFound(
            f"SkyPilot does not offer `{cloud_id}` now", hint="`prime availability list` shows all"
        )

    def _answer(self) -> Any:
        def ask() -> Any:
            return self.installation.ask("offers", {"infra": list(self.infra)}, _ASK_SECONDS)

        return read_cached(
            self.file,
            [self.installation.command, *self.infra],
            ask,
            is_fresh=lambda at: 0 <= self.now() - at < _FRESH_SECONDS,
            patience=self.patience,
            now=self.now,
        )
