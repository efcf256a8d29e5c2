"""A wheelhouse for the tests of this folder."""

from tests.helpers.wheelhouse import wheelhouse

__all__ = ["wheelhouse"]
