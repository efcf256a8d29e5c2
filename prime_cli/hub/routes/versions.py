"""Documents beside a version, and yanking."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.requests import caller_of, read_json, ref_of, ref_to_read
from prime_cli.hub.routes.responses import enveloped
from prime_cli.hub.services import version_documents, versions
from prime_cli.wire.check_reports import CheckReport, CheckSummary
from prime_cli.wire.environments import YankReply, YankRequest
from prime_cli.wire.locks import Signatures

# --- Check reports ---


async def get_report(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, version_documents.get_report, *args))


async def put_report(request: Request) -> Response:
    report = await read_json(request, CheckReport, most=version_documents.MOST_REPORT_BYTES)
    args = hub_of(request), caller_of(request), ref_of(request), report
    return enveloped(await call(request, version_documents.put_report, *args))


_REPORT = "/environmentshub/{owner}/{name}/@{version}/check"


# --- Signatures ---


async def get_signatures(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, version_documents.get_signatures, *args))


async def put_signatures(request: Request) -> Response:
    given = await read_json(request, Signatures, most=version_documents.MOST_SIGNATURE_BYTES)
    args = hub_of(request), caller_of(request), ref_of(request), given
    return enveloped(await call(request, version_documents.put_signatures, *args))


_SIGNATURES = "/environmentshub/{owner}/{name}/@{version}/signatures"


# --- Yanking ---


async def yank(request: Request) -> Response:
    wanted = await read_json(request, YankRequest)
    args = hub_of(request), caller_of(request), ref_of(request), wanted.reason
    return enveloped(await call(request, versions.yank_version, *args))


async def unyank(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, versions.unyank_version, *args))


_VERSION = "/environmentshub/{owner}/{name}/@{version}"


OPERATIONS = (
    Operation("GET", _REPORT, get_report, "Get the check report of a version", answers=CheckReport),
    Operation(
        "PUT",
        _REPORT,
        put_report,
        "Store the check report of a version",
        answers=CheckSummary,
        takes=CheckReport,
        needs_key=True,
    ),
    Operation(
        "GET", _SIGNATURES, get_signatures, "Get the signatures of a version", answers=Signatures
    ),
    Operation(
        "PUT",
        _SIGNATURES,
        put_signatures,
        "Store the signatures of a version",
        answers=Signatures,
        takes=Signatures,
        needs_key=True,
    ),
    Operation(
        "POST",
        _VERSION + "/yank",
        yank,
        "Yank a version: installers skip it unless it is pinned",
        answers=YankReply,
        takes=YankRequest,
        needs_key=True,
    ),
    Operation(
        "POST",
        _VERSION + "/unyank",
        unyank,
        "Unyank a version",
        answers=YankReply,
        needs_key=True,
    ),
)
