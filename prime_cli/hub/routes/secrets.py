"""Secrets and variables."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Endpoint, Number, Operation, Text
from prime_cli.hub.routes.requests import caller_of, read_json
from prime_cli.hub.routes.responses import answer, enveloped
from prime_cli.hub.services import environment_secrets, owner_secrets
from prime_cli.wire.secrets import (
    Done,
    NewSecret,
    NewVariable,
    Secret,
    SecretChange,
    SecretLink,
    SecretPage,
    Variable,
    VariableChange,
)

_TEAM = Text("teamId", "Use this team instead of the caller")
_OFFSET = Number("offset", "Number of items to skip", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "Maximum number of items", default=100, least=1, most=1000)

_ONE = "/secrets/{secret_id}"
_SECRETS = "/environmentshub/{id}/secrets"
_VARIABLES = "/environmentshub/{id}/variables"


async def list_secrets(request: Request) -> Response:
    args = hub_of(request), caller_of(request), _TEAM.read(request)
    offset, limit = _OFFSET.read(request), _LIMIT.read(request)
    page = await call(request, owner_secrets.list_secrets, *args, offset=offset, limit=limit)
    return answer(page)


def _serve(service: Callable[..., Any], *names: str, takes: Any = None) -> Endpoint:
    """The route of a service that is given ids of the address, and perhaps a body."""

    async def endpoint(request: Request) -> Response:
        given = [request.path_params[name] for name in names]
        if takes is not None:
            given.append(await read_json(request, takes))
        args = hub_of(request), caller_of(request), *given
        return enveloped(await call(request, service, *args))

    return endpoint


def _operation(
    method: str,
    path: str,
    service: Callable[..., Any],
    *names: str,
    summary: str,
    answers: Any,
    takes: Any = None,
) -> Operation:
    endpoint = _serve(service, *names, takes=takes)
    return Operation(method, path, endpoint, summary, answers=answers, takes=takes, needs_key=True)


OPERATIONS = (
    Operation(
        "GET",
        "/secrets",
        list_secrets,
        "List the secrets of the caller or a team",
        answers=SecretPage,
        query=(_TEAM, _OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    _operation(
        "POST", "/secrets", owner_secrets.create_secret,
        summary="Create a secret", answers=Secret, takes=NewSecret,
    ),
    _operation(
        "GET", _ONE, owner_secrets.get_secret, "secret_id",
        summary="Show a secret, without its value", answers=Secret,
    ),
    _operation(
        "PATCH", _ONE, owner_secrets.update_secret, "secret_id",
        summary="Update a secret", answers=Secret, takes=SecretChange,
    ),
    _operation(
        "DELETE", _ONE, owner_secrets.delete_secret, "secret_id",
        summary="Delete a secret", answers=Done,
    ),
    _operation(
        "GET", _SECRETS, environment_secrets.list_environment_secrets, "id",
        summary="List the secrets of an environment", answers=list[Secret],
    ),
    _operation(
        "POST", _SECRETS, environment_secrets.create_environment_secret, "id",
        summary="Create a secret of an environment", answers=Secret, takes=NewSecret,
    ),
    _operation(
        "POST", _SECRETS + "/link/{secret_id}", environment_secrets.link_secret, "id", "secret_id",
        summary="Link an existing secret to an environment", answers=SecretLink,
    ),
    _operation(
        "DELETE", _SECRETS + "/link/{secret_id}", environment_secrets.unlink_secret,
        "id", "secret_id",
        summary="Unlink a secret from an environment", answers=Done,
    ),
    _operation(
        "PATCH", _SECRETS + "/{secret_id}", environment_secrets.update_environment_secret,
        "id", "secret_id",
        summary="Update a secret of an environment", answers=Secret, takes=SecretChange,
    ),
    _operation(
        "DELETE", _SECRETS + "/{secret_id}", environment_secrets.delete_environment_secret,
        "id", "secret_id",
        summary="Delete a secret of an environment", answers=Done,
    ),
    _operation(
        "GET", _VARIABLES, environment_secrets.list_variables, "id",
        summary="List the variables of an environment", answers=list[Variable],
    ),
    _operation(
        "POST", _VARIABLES, environment_secrets.create_variable, "id",
        summary="Create a variable of an environment", answers=Variable, takes=NewVariable,
    ),
    _operation(
        "PATCH", _VARIABLES + "/{variable_id}", environment_secrets.update_variable,
        "id", "variable_id",
        summary="Update a variable of an environment", answers=Variable, takes=VariableChange,
    ),
    _operation(
        "DELETE", _VARIABLES + "/{variable_id}", environment_secrets.delete_variable,
        "id", "variable_id",
        summary="Delete a variable of an environment", answers=Done,
    ),
)  # fmt: skip
