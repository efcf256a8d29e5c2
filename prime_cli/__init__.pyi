"""What `prime_cli` offers to programs, for type checkers; at run time it comes when asked for."""

from prime_cli.core.errors import PrimeError as PrimeError
from prime_cli.evals.planning.request import EvalRequest as EvalRequest
from prime_cli.sdk.hub import Hub as Hub

__all__ = ["EvalRequest", "Hub", "PrimeError"]
__version__: str
