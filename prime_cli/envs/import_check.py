"""Import a wheel in a clean interpreter, as its users will: files left out of it come to light."""

from pathlib import Path

from prime_cli.archive.wheels import WheelFacts
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import Unreachable
from prime_cli.core.progress import Progress
from prime_cli.runtime.interpreters import Interpreter, prepare_interpreter
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.sources import Source


def check_import(
    wheel: Path,
    facts: WheelFacts,
    progress: Progress,
    *,
    sources: tuple[Source, ...] = (),
    offline: bool = False,
) -> Interpreter | None:
    """The isolated interpreter in which the wheel's module imports, packages from `sources` in it.

    None, with a warning, when the packages it needs cannot be fetched now. Raises LoadFailed when
    the module raises, ResolveFailed when no set of packages fits.
    """
    package = WheelPackage(wheel.absolute(), digest_file(wheel), facts, sources=sources)
    try:
        return prepare_interpreter(package, offline=offline, progress=progress)
    except Unreachable as error:
        progress.warn(
            f"`{facts.filename}` was not imported, and has no lock: {error.message}",
            hint="run `prime env build` again when the package index can be reached",
        )
        return None
