"""The report of a check, beside the version that it is about."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of, read_json, ref_of, ref_to_read
from prime_cli.hub.services import reports
from prime_cli.wire.check_reports import CheckReport, CheckSummary


async def get_report(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, reports.get_report, *args))


async def put_report(request: Request) -> Response:
    report = await read_json(request, CheckReport, most=reports.MOST_BYTES)
    args = hub_of(request), caller_of(request), ref_of(request), report
    return enveloped(await call(request, reports.put_report, *args))


_PATH = "/environmentshub/{owner}/{name}/@{version}/check"

OPERATIONS = (
    Operation("GET", _PATH, get_report, "What the check of a version found", answers=CheckReport),
    Operation(
        "PUT",
        _PATH,
        put_report,
        "Keep what the check of a version found",
        answers=CheckSummary,
        takes=CheckReport,
        needs_key=True,
    ),
)
