"""See that an environment's wheel can be imported, in an interpreter made for it alone."""

from prime_cli.core.progress import Progress
from prime_cli.runtime.interpreters import Interpreter, prepare_interpreter
from prime_cli.runtime.packages import WheelPackage


def check_import(
    package: WheelPackage,
    *,
    verifiers: str | None = None,
    python: str | None = None,
    offline: bool = False,
    progress: Progress,
) -> Interpreter:
    """Import the wheel's module in a clean interpreter; returns it, with the lock it was made of.

    Raises LoadFailed with the end of the traceback when the module raises or a file was left out
    of the wheel, ResolveFailed when no set of packages fits, Offline, Unreachable.
    """
    return prepare_interpreter(
        package, verifiers=verifiers, python=python, offline=offline, progress=progress
    )
