"""Evaluations: create, finalize, update, read and compare."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Number, Operation, Text
from prime_cli.hub.routes.requests import caller_of, read_exact_json, ref_of
from prime_cli.hub.routes.responses import answer, enveloped
from prime_cli.hub.services.evaluations import creation, history, lifecycle, queries
from prime_cli.wire.evaluations import (
    EvaluationChange,
    EvaluationDetail,
    EvaluationHistory,
    EvaluationLogs,
    EvaluationPage,
    EvaluationRequest,
    EvaluationTicket,
    EvaluationUpdate,
    FinalizeRequest,
    FinalizeResult,
)

_TEAM = Text("team_id", "Only evaluations of this team")
_ENVIRONMENT_ID = Text("environment_id", "Only evaluations of the environment with this id")
_ENVIRONMENT = Text(
    "environment_name", "Only evaluations of this environment: `name` or `owner/name`"
)
_SUITE = Text("suite_id", "Only evaluations of this suite")
_MODEL = Text("model_name", "Only evaluations of this model")
_VERSION = Text("version", "Only evaluations of this version")
_SKIP = Number("skip", "Number of items to skip", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "Maximum number of items", default=50, least=1, most=100)
_POINTS = Number("limit", "Maximum number of evaluations", default=100, least=1, most=1000)


async def create(request: Request) -> Response:
    wanted = await read_exact_json(request, EvaluationRequest)
    ticket = await call(
        request,
        creation.create_evaluation,
        hub_of(request),
        caller_of(request),
        wanted,
        key=request.headers.get("idempotency-key"),
    )
    return answer(ticket, 201)


async def list_(request: Request) -> Response:
    query = queries.EvaluationQuery(
        environment_id=_ENVIRONMENT_ID.read(request),
        environment_name=_ENVIRONMENT.read(request),
        suite_id=_SUITE.read(request),
        team_id=_TEAM.read(request),
        skip=_SKIP.read(request),
        limit=_LIMIT.read(request),
    )
    args = hub_of(request), caller_of(request), query
    return answer(await call(request, queries.list_evaluations, *args))


async def get(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call(request, queries.get_evaluation, *args))


async def change(request: Request) -> Response:
    wanted = await read_exact_json(request, EvaluationUpdate)
    args = hub_of(request), caller_of(request), request.path_params["id"], wanted
    return answer(await call(request, lifecycle.change, *args))


async def finalize(request: Request) -> Response:
    said = await read_exact_json(request, FinalizeRequest)
    args = hub_of(request), caller_of(request), request.path_params["id"], said
    return answer(await call(request, lifecycle.finalize, *args))


async def delete(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call(request, lifecycle.delete_evaluation, *args))


async def get_logs(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call(request, lifecycle.get_logs, *args))


async def put_logs(request: Request) -> Response:
    said = await read_exact_json(request, EvaluationLogs)
    args = hub_of(request), caller_of(request), request.path_params["id"], said
    return answer(await call(request, lifecycle.put_logs, *args))


async def list_history(request: Request) -> Response:
    query = history.HistoryQuery(
        model_name=_MODEL.read(request),
        version=_VERSION.read(request),
        skip=_SKIP.read(request),
        limit=_POINTS.read(request),
    )
    args = hub_of(request), caller_of(request), ref_of(request), query
    return enveloped(await call(request, history.list_history, *args))


_ONE = "/evaluations/{id}"
# Where official clients look for the log of any evaluation.
_LOGS = "/hosted-evaluations/{id}/logs"

OPERATIONS = (
    Operation(
        "POST",
        "/evaluations",
        create,
        "Create an evaluation",
        answers=EvaluationTicket,
        takes=EvaluationRequest,
        enveloped=False,
        needs_key=True,
        status=201,
    ),
    Operation(
        "GET",
        "/evaluations",
        list_,
        "List evaluations of the caller and the caller's teams",
        answers=EvaluationPage,
        query=(_TEAM, _ENVIRONMENT_ID, _ENVIRONMENT, _SUITE, _SKIP, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation("GET", _ONE, get, "Show an evaluation", answers=EvaluationDetail, enveloped=False),
    Operation(
        "PUT",
        _ONE,
        change,
        "Update an evaluation",
        answers=EvaluationChange,
        takes=EvaluationUpdate,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        _ONE,
        delete,
        "Delete an evaluation and its samples",
        answers=EvaluationChange,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ONE + "/finalize",
        finalize,
        "Complete an evaluation",
        answers=FinalizeResult,
        takes=FinalizeRequest,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        _LOGS,
        get_logs,
        "Get the logs of an evaluation",
        answers=EvaluationLogs,
        enveloped=False,
    ),
    Operation(
        "PUT",
        _LOGS,
        put_logs,
        "Store the logs of an evaluation",
        answers=EvaluationLogs,
        takes=EvaluationLogs,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/environmentshub/{owner}/{name}/evaluations",
        list_history,
        "List finished evaluations of an environment by version and model",
        answers=EvaluationHistory,
        query=(_MODEL, _VERSION, _SKIP, _POINTS),
    ),
)
