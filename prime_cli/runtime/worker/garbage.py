"""How often Python looks for garbage while an environment is imported and loaded."""

import contextlib
import gc
from collections.abc import Iterator

NEW_OBJECTS = 20_000


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """Within: a collection for every 20,000 new objects instead of every 700.

    To import verifiers makes hundreds of thousands of objects, and all of them stay; looking
    through them again and again took a tenth of the three seconds. Rarer collections save less:
    what they look through has left the processor's cache.
    """
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
