"""Evaluations: create, finalize, update, read and compare."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.requests import ref_of
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import lifecycle, logs, queries, sample_queries
from prime_cli.wire.evaluations import (
    BulkDeletion,
    BulkDeletionResult,
    EvaluationChange,
    EvaluationDetail,
    EvaluationHistory,
    EvaluationLogs,
    EvaluationPage,
    EvaluationQuery,
    EvaluationRequest,
    EvaluationTicket,
    EvaluationUpdate,
    FinalizeRequest,
    FinalizeResult,
    HistoryQuery,
)

router = Router(enveloped=False, keeps_nulls=True)

_ONE = "/evaluations/{id}"
# Where official clients look for the log of any evaluation.
_LOGS = "/hosted-evaluations/{id}/logs"


@router.post("/evaluations", "Create an evaluation", needs_key=True, status=201)
async def create(request: Request, body: EvaluationRequest) -> EvaluationTicket:
    key = request.headers.get("idempotency-key")
    return await call(request, lifecycle.create_evaluation, body, key=key)


@router.get("/evaluations", "List evaluations of the caller and the caller's teams", needs_key=True)
async def list_(request: Request, query: EvaluationQuery) -> EvaluationPage:
    return await call(request, queries.list_evaluations, query)


@router.get(_ONE, "Show an evaluation")
async def get(request: Request) -> EvaluationDetail:
    return await call(request, queries.get_evaluation, request.path_params["id"])


@router.put(_ONE, "Update an evaluation", needs_key=True)
async def change(request: Request, body: EvaluationUpdate) -> EvaluationChange:
    return await call(request, lifecycle.change, request.path_params["id"], body)


@router.delete(_ONE, "Delete an evaluation and its samples", needs_key=True)
async def delete(request: Request) -> EvaluationChange:
    return await call(request, lifecycle.delete_evaluation, request.path_params["id"])


@router.post("/evaluations/bulk-delete", "Delete several evaluations", needs_key=True)
async def delete_several(request: Request, body: BulkDeletion) -> BulkDeletionResult:
    return await call(request, lifecycle.delete_evaluations, body)


@router.post(_ONE + "/finalize", "Complete an evaluation", needs_key=True)
async def finalize(request: Request, body: FinalizeRequest) -> FinalizeResult:
    return await call(request, lifecycle.finalize, request.path_params["id"], body)


@router.get(_LOGS, "Get the logs of an evaluation")
async def get_logs(request: Request) -> EvaluationLogs:
    return await call(request, logs.get_logs, request.path_params["id"])


@router.put(_LOGS, "Store the logs of an evaluation", needs_key=True)
async def put_logs(request: Request, body: EvaluationLogs) -> EvaluationLogs:
    return await call(request, logs.put_logs, request.path_params["id"], body)


@router.get(
    "/environmentshub/{owner}/{name}/evaluations",
    "List finished evaluations of an environment by version and model",
    enveloped=True,
)
async def list_history(request: Request, query: HistoryQuery) -> EvaluationHistory:
    return await call(request, sample_queries.list_history, ref_of(request), query)
