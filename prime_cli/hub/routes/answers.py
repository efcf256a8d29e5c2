"""What routes write: wire structs as JSON, and errors as problems."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import InternalError, PrimeError
from prime_cli.wire.codec import Envelope, encode
from prime_cli.wire.problems import Problem, status_of, to_problem


def answer(value: Any, status: int = 200) -> Response:
    """A wire struct as the JSON body."""
    return Response(encode(value), status, media_type="application/json")


def enveloped(value: Any) -> Response:
    """A wire struct as `{"data": …}`."""
    return answer(Envelope(value))


async def answer_prime_error(_request: Request, error: Exception) -> Response:
    """A failure of a service: its sentence, code and hint under the status of its class."""
    if not isinstance(error, PrimeError):
        raise error
    return answer(to_problem(error), status_of(error))


async def answer_unexpected(_request: Request, _error: Exception) -> Response:
    """A bug of ours; the server goes on to raise it, so that it is logged."""
    problem = Problem(detail="The hub failed to answer; its log says why", code=InternalError.code)
    return answer(problem, 500)


async def answer_http_error(_request: Request, error: Exception) -> Response:
    """What the router itself refuses: no such address, or not with this method."""
    if not isinstance(error, HTTPException):
        raise error
    refusal = answer(Problem(detail=error.detail), error.status_code)
    refusal.headers.update(error.headers or {})
    return refusal
