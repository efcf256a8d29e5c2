"""prime: write, share, evaluate and train on RL environments.

    from prime_cli import Hub

What programs import from here is loaded when it is first asked for, so that starting the command
loads none of it; `__init__.pyi` tells type checkers its types.
"""

__version__ = "0.1.0"

_PLACES = {
    "EvalRequest": "prime_cli.evals.planning.request",
    "Hub": "prime_cli.sdk.hub",
    "PrimeError": "prime_cli.core.errors",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
