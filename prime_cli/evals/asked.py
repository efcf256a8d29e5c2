"""How the user named a run's model: kept with the run, so that a resume finds it again."""

import msgspec

from prime_cli.evals.request import EvalRequest


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that led to the endpoint, as they were typed; no key and no value of a header."""

    model: str | None = None
    base_url: str | None = None
    key_var: str | None = None
    endpoints_path: str | None = None
    provider: str | None = None


def asked_in(request: EvalRequest) -> Asked:
    """That part of `request`."""
    path = request.endpoints_path
    return Asked(
        model=request.model,
        base_url=request.base_url,
        key_var=request.key_var,
        endpoints_path=None if path is None else str(path.absolute()),
        provider=request.provider,
    )
