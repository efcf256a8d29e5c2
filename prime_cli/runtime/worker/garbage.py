"""How often Python looks for garbage while an environment is imported and loaded."""

import contextlib
import gc
from collections.abc import Iterator

NEW_OBJECTS = 200_000


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """Within: a collection for every 200,000 new objects instead of every 700.

    To import verifiers makes hundreds of thousands of objects, and all of them stay; looking
    through them again and again took 0.4 of 3 seconds.
    """
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
