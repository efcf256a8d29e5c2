"""The tables of the tree as `case` statements, which bash and zsh read alike."""

from prime_cli.answers.tree import Node

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
"""What a name that was read from a file may begin with; `._/-` may follow.

Written out, because what `A-Z` covers is a matter of the locale.
"""
LONGEST = 200
MOST = 1000
"""The longest name and the most lines of a file that are looked at."""

ALIAS = '^[[:space:]]*endpoint_id[[:space:]]*=[[:space:]]*"([^"]*)"'
CONTEXT = '^[[:space:]]*\\[[[:space:]]*contexts\\."?([^]"[:space:]]*)"?[[:space:]]*\\]'
"""How the lines of endpoints.toml and config.toml look that name something: POSIX expressions."""
REGISTRIES = ("configs/endpoints.toml", "endpoints.toml")
"""Where a registry is looked for, before prime's home, as by `models.registry`."""


def tables(root: Node) -> str:
    """Functions that set `at` to a command's path, and `offers` to what may follow."""
    steps = "".join(f"    '{typed}') at='{path}' ;;\n" for typed, path in root.steps())
    defaults = "".join(f"    '{group}') at='{path}' ;;\n" for group, path in root.defaults())
    follow = [_arm(keys, offers) for keys, offers in root.follow_options()]
    follow += [_arm((key,), offers) for key, offers in root.follow_words()]
    return _function("step", steps) + _function("default", defaults) + _function("offers", *follow)


def _function(name: str, *arms: str) -> str:
    return f"_prime_{name}() {{\n  case $1 in\n{''.join(arms)}    *) return 1 ;;\n  esac\n}}\n"


def _arm(keys: tuple[str, ...], offers: str) -> str:
    patterns = "|".join(f"'{key}'" for key in keys)
    return f"    {patterns}) offers='{offers}' ;;\n"
