"""Documents beside a version, and yanking."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.requests import ref_of, ref_to_read
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import version_documents, versions
from prime_cli.wire.check_reports import CheckReport, CheckSummary
from prime_cli.wire.environments import YankReply, YankRequest
from prime_cli.wire.locks import Signatures

router = Router()

_VERSION = "/environmentshub/{owner}/{name}/@{version}"
_REPORT = _VERSION + "/check"
_SIGNATURES = _VERSION + "/signatures"


@router.get(_REPORT, "Get the check report of a version")
async def get_report(request: Request) -> CheckReport:
    return await call(request, version_documents.get_report, await ref_to_read(request))


@router.put(
    _REPORT,
    "Store the check report of a version",
    needs_key=True,
    most_bytes=version_documents.MOST_REPORT_BYTES,
)
async def put_report(request: Request, body: CheckReport) -> CheckSummary:
    return await call(request, version_documents.put_report, ref_of(request), body)


@router.get(_SIGNATURES, "Get the signatures of a version")
async def get_signatures(request: Request) -> Signatures:
    return await call(request, version_documents.get_signatures, await ref_to_read(request))


@router.put(
    _SIGNATURES,
    "Store the signatures of a version",
    needs_key=True,
    most_bytes=version_documents.MOST_SIGNATURE_BYTES,
)
async def put_signatures(request: Request, body: Signatures) -> Signatures:
    return await call(request, version_documents.put_signatures, ref_of(request), body)


# --- Yanking ---


@router.post(
    _VERSION + "/yank", "Yank a version: installers skip it unless it is pinned", needs_key=True
)
async def yank(request: Request, body: YankRequest) -> YankReply:
    return await call(request, versions.yank_version, ref_of(request), body.reason)


@router.post(_VERSION + "/unyank", "Unyank a version", needs_key=True)
async def unyank(request: Request) -> YankReply:
    return await call(request, versions.unyank_version, ref_of(request))
