"""An interpreter that nobody has used yet."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prime_cli.core.paths import prime_home
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.layers import Layer, below_of, prepare_top
from prime_cli.runtime.packages import WheelPackage, installable
from prime_cli.runtime.pythons import python_at


def make_anew(
    interpreter: Interpreter, package: WheelPackage, beside: Sequence[WheelPackage], folder: Path
) -> Interpreter:
    """The same interpreter made once more below `folder`: the wheel installed there alone.

    The layer with its dependencies is shared. Raises ResolveFailed, StorageFailed.
    """
    below = below_of(interpreter.python.parent.parent)
    if below is None:
        return interpreter
    top = prepare_top(
        folder,
        installable(package, prime_home()),
        [installable(wheel, prime_home()) for wheel in beside],
        Layer(below, below.name),
        python_at(interpreter.python),
    )
    return replace(interpreter, python=top.python, digest=top.digest)
