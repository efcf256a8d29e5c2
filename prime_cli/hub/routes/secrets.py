"""Secrets and variables."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.responses import enveloped
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environment_secrets, secrets
from prime_cli.wire.secrets import (
    Done,
    EnvironmentVariable,
    NewSecret,
    NewVariable,
    OpenedSecrets,
    Secret,
    SecretChange,
    SecretLink,
    SecretPage,
    SecretQuery,
    VariableChange,
)

router = Router(needs_key=True)

# --- Secrets of an owner ---

_ONE = "/secrets/{secret_id}"


@router.get("/secrets", "List the secrets of the caller or a team", enveloped=False)
async def list_secrets(request: Request, query: SecretQuery) -> SecretPage:
    return await call(request, secrets.list_secrets, query)


@router.post("/secrets", "Create a secret")
async def create_secret(request: Request, body: NewSecret) -> Secret:
    return await call(request, secrets.create_secret, body)


@router.get(_ONE, "Show a secret, without its value")
async def get_secret(request: Request) -> Secret:
    return await call(request, secrets.get_secret, request.path_params["secret_id"])


@router.patch(_ONE, "Update a secret")
async def update_secret(request: Request, body: SecretChange) -> Secret:
    return await call(request, secrets.update_secret, request.path_params["secret_id"], body)


@router.delete(_ONE, "Delete a secret")
async def delete_secret(request: Request) -> Done:
    return await call(request, secrets.delete_secret, request.path_params["secret_id"])


# --- Secrets of an environment ---

_SECRETS = "/environmentshub/{id}/secrets"
_LINK = _SECRETS + "/link/{secret_id}"
_SECRET = _SECRETS + "/{secret_id}"


def _secret_in(request: Request) -> tuple[str, str]:
    """The ids of an environment and of a secret."""
    return request.path_params["id"], request.path_params["secret_id"]


@router.get(_SECRETS, "List the secrets of an environment")
async def list_environment_secrets(request: Request) -> list[Secret]:
    env_id = request.path_params["id"]
    return await call(request, environment_secrets.list_environment_secrets, env_id)


@router.post(_SECRETS, "Create a secret of an environment")
async def create_environment_secret(request: Request, body: NewSecret) -> Secret:
    env_id = request.path_params["id"]
    return await call(request, environment_secrets.create_environment_secret, env_id, body)


@router.post(
    _SECRETS + "/open",
    "Get the values of an environment's secrets and variables, for a run of it",
    answers=OpenedSecrets,
)
async def open_secrets(request: Request) -> Response:
    opened = await call(request, environment_secrets.open_secrets, request.path_params["id"])
    reply = enveloped(opened)
    reply.headers["cache-control"] = "no-store"
    return reply


@router.post(_LINK, "Link an existing secret to an environment")
async def link_secret(request: Request) -> SecretLink:
    return await call(request, environment_secrets.link_secret, *_secret_in(request))


@router.delete(_LINK, "Unlink a secret from an environment")
async def unlink_secret(request: Request) -> Done:
    return await call(request, environment_secrets.unlink_secret, *_secret_in(request))


@router.patch(_SECRET, "Update a secret of an environment")
async def update_environment_secret(request: Request, body: SecretChange) -> Secret:
    ids = _secret_in(request)
    return await call(request, environment_secrets.update_environment_secret, *ids, body)


@router.delete(_SECRET, "Delete a secret of an environment")
async def delete_environment_secret(request: Request) -> Done:
    ids = _secret_in(request)
    return await call(request, environment_secrets.delete_environment_secret, *ids)


# --- Variables of an environment ---

_VARIABLES = "/environmentshub/{id}/variables"
_VARIABLE = _VARIABLES + "/{variable_id}"


@router.get(_VARIABLES, "List the variables of an environment")
async def list_variables(request: Request) -> list[EnvironmentVariable]:
    return await call(request, environment_secrets.list_variables, request.path_params["id"])


@router.post(_VARIABLES, "Create a variable of an environment")
async def create_variable(request: Request, body: NewVariable) -> EnvironmentVariable:
    env_id = request.path_params["id"]
    return await call(request, environment_secrets.create_variable, env_id, body)


@router.patch(_VARIABLE, "Update a variable of an environment")
async def update_variable(request: Request, body: VariableChange) -> EnvironmentVariable:
    ids = request.path_params["id"], request.path_params["variable_id"]
    return await call(request, environment_secrets.update_variable, *ids, body)


@router.delete(_VARIABLE, "Delete a variable of an environment")
async def delete_variable(request: Request) -> Done:
    ids = request.path_params["id"], request.path_params["variable_id"]
    return await call(request, environment_secrets.delete_variable, *ids)
