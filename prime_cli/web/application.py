"""The application of `prime open`: local runs and trainings, and the embedded hub's pages."""

import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import anyio
import msgspec
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotAllowed, NotFound, PrimeError
from prime_cli.evals.gate.labels import check_person
from prime_cli.hub.routes.requests import read_fields
from prime_cli.pages.assets import ASSET_HEADERS, PAGE_HEADERS, TEXT_HEADERS, find_asset
from prime_cli.pages.comparison import render_comparison, render_sides
from prime_cli.pages.events import EVENT_HEADERS, FIRST_EVENT, STILL_THERE, event, known_count
from prime_cli.pages.labels import render_label, render_people
from prime_cli.pages.links import COMPARISON, page_number
from prime_cli.pages.paging import find_cursor, parse_cursor
from prime_cli.pages.rollout import part_of, render_rollout, tokens_page
from prime_cli.pages.run_page import render_run
from prime_cli.pages.runs import Link, RunFilter
from prime_cli.pages.templates import (
    Frame,
    NavigationLink,
    Page,
    error_page,
    problem_of,
    render,
)
from prime_cli.runs.export.exports import JSON_LINES, find_download, write_download
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.transcript import parse_position
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.web.comparison import view_comparison, view_sides
from prime_cli.web.labels import give_label, labels_path, next_label, view_label, view_people
from prime_cli.web.library import Library
from prime_cli.web.opened import FollowedRun, LocalRun
from prime_cli.web.reins import reins_of, steer
from prime_cli.web.rollout_view import (
    local_sample,
    rollout_command,
    rollout_link,
    view_local_rollout,
)
from prime_cli.web.run_list import EVENTS, render_runs, view_runs, watch_list
from prime_cli.web.run_view import trust_in, view_run
from prime_cli.web.training_view import render_training, view_training
from prime_cli.wire.problems import status_of

NAVIGATION = (NavigationLink("/runs", "Runs"), NavigationLink("/", "Environments"))
_ALL_RUNS = NavigationLink("/runs", "All runs")
_LOOK_SECONDS = 0.5
_ALIVE_SECONDS = 15.0
_HUB_PAGES = ("/dashboard/environments/", "/dashboard/evaluations/", COMPARISON)

READING = ("GET", "HEAD")
FORM_FIELD = "form_token"

Answer = Callable[[Request], Response]


def create_application(library: Library, hub: ASGIApp) -> Starlette:
    """Pages of `library`, and of `hub`, whose API is left out: it would answer as its owner."""
    routes = (
        Route("/runs", _runs),
        Route(EVENTS, _list_events),
        Route("/runs/{name}", _run),
        Route("/runs/{name}", _steer_run, methods=["POST"]),
        Route("/runs/{name}/events", _events),
        Route("/runs/{name}/download.{form}", _download),
        Route("/runs/{name}/rollouts/{position}", _rollout),
        Route("/runs/{name}/rollouts/{position}/tokens", _tokens),
        Route("/runs/{name}/rollouts/{position}/text", _part),
        Route("/runs/{name}/labels", _people),
        Route("/runs/{name}/labels/{person}", _next_label),
        Route("/runs/{name}/labels/{person}/{position}", _label),
        Route("/runs/{name}/labels/{person}/{position}", _give_label, methods=["POST"]),
        Route("/runs/{name}/labels/{person}/{position}/text", _part),
        Route("/trainings/{name}", _training),
        Route("/trainings/{name}", _steer_training, methods=["POST"]),
        Route("/trainings/{name}/events", _events),
        Route("/compare", _compare),
        Route("/compare/{position}", _sides),
        Route("/static/{name}", _static),
        Mount("/", PagesOnly(hub)),
    )
    app = Starlette(routes=routes, exception_handlers={PrimeError: _answer_error})
    app.state.library = library
    app.state.form_token = secrets.token_urlsafe(32)
    return app


class PagesOnly:
    """The pages of a hub, without its API."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        is_page = path == "/" or path.startswith(_HUB_PAGES)
        if not is_page:
            raise NotFound(f"{path[:200]} was not found")
        if scope["method"] not in READING:
            raise NotAllowed("These pages of the hub change nothing")
        await self.app(scope, receive, send)


# --- Answers ---


def answer_page(request: Request, page: Page, status: int = 200) -> Response:
    """A page in the frame of `prime open`."""
    frame = Frame(NAVIGATION, here=request.url.path)
    return Response(render(page, frame), status, headers=PAGE_HEADERS, media_type="text/html")


def refuse(error: PrimeError, status: int) -> Response:
    """The page of what the guard refuses, which links to nothing."""
    page = error_page(error, onward=None)
    return Response(render(page), status, headers=PAGE_HEADERS, media_type="text/html")


async def _answer_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, PrimeError):
        raise error
    return answer_page(request, error_page(error, onward=_ALL_RUNS), status_of(error))


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def _found(request: Request) -> LocalRun:
    return _library(request).find(request.path_params["name"])


def _followed(request: Request) -> FollowedRun:
    return _library(request).follow(request.path_params["name"])


# --- Pages; Starlette runs these in threads ---


def _runs(request: Request) -> Response:
    return answer_page(request, render_runs(view_runs(_library(request), request.query_params)))


def _run(request: Request, problem: PrimeError | None = None) -> Response:
    given = request.query_params
    name = request.path_params["name"]
    run = _followed(request).measured()
    view = view_run(run, name, RunFilter.read(given), given)
    reins = reins_of(run, request.app.state.form_token)
    trust = trust_in(run, _library(request).cwd)
    others = [Link("Label rollouts", labels_path(name))] if trust else []
    view = replace(view, reins=reins, trust=trust, others=others)
    return _steered(request, render_run(view), problem)


def _rollout(request: Request) -> Response:
    position = parse_position(request.path_params["position"])
    cursor = parse_cursor(request.query_params)
    view = view_local_rollout(_found(request), request.path_params["name"], *position, cursor)
    return answer_page(request, render_rollout(view))


def _tokens(request: Request) -> Response:
    position = parse_position(request.path_params["position"])
    run = _found(request)
    here = rollout_link(request.path_params["name"], *position)
    page = tokens_page(
        local_sample(run, *position),
        here,
        request.query_params.get("at", ""),
        page_number(request.query_params),
        rollout_command(run, *position),
    )
    return answer_page(request, page)


def _part(request: Request) -> Response:
    """All of a text of a rollout, whose page shows the beginning."""
    sample = local_sample(_found(request), *parse_position(request.path_params["position"]))
    given = request.query_params
    found = part_of(sample, given.get("at", ""), indented=given.get("indented") == "1")
    return Response(found, headers=TEXT_HEADERS)


def _training(request: Request, problem: PrimeError | None = None) -> Response:
    view = view_training(_library(request), request.path_params["name"], request.query_params)
    reins = reins_of(_found(request), request.app.state.form_token)
    return _steered(request, render_training(replace(view, reins=reins)), problem)


def _compare(request: Request) -> Response:
    names = request.query_params.getlist("run")
    force = request.query_params.get("force") == "1"
    view = view_comparison(_library(request), names, page_number(request.query_params), force=force)
    return answer_page(request, render_comparison(view))


def _sides(request: Request) -> Response:
    names = request.query_params.getlist("run")
    position = parse_position(request.path_params["position"])
    cursor = find_cursor(request.query_params)
    view = view_sides(_library(request), names, *position, cursor)
    return answer_page(request, render_sides(view))


def _download(request: Request) -> Response:
    return download(_found(request).saved, request.path_params["form"])


def _static(request: Request) -> Response:
    found = find_asset(request.path_params["name"])
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return Response(found.content, headers=ASSET_HEADERS, media_type=found.media_type)


# --- Forms that steer a run ---


async def _steer_run(request: Request) -> Response:
    return await _steer(request, _run)


async def _steer_training(request: Request) -> Response:
    return await _steer(request, _training)


async def _steer(
    request: Request, show: Callable[[Request, PrimeError | None], Response]
) -> Response:
    """Do what the form says and lead back to its page, or show why that was refused there."""
    form = await _own_form(request)
    run = await to_thread.run_sync(_found, request)
    try:
        await to_thread.run_sync(steer, run, form)
    except PrimeError as error:
        return await to_thread.run_sync(show, request, error)
    return _lead(request.url.path)


async def _own_form(request: Request) -> dict[str, str]:
    """The fields of a form of these pages; raises NotAllowed for another one."""
    form = await read_fields(request)
    given = form.pop(FORM_FIELD, "").encode("utf-8", "replace")
    if not secrets.compare_digest(given, request.app.state.form_token.encode()):
        raise NotAllowed(
            "This form was not made by these pages, or is too old",
            hint="load the page again, and send the form once more",
        )
    return form


def _lead(path: str) -> Response:
    return RedirectResponse(path, 303, headers={"cache-control": "no-store"})


def _steered(request: Request, page: Page, problem: PrimeError | None) -> Response:
    """A page with what became of a form that was refused."""
    if problem is None:
        return answer_page(request, page)
    page = msgspec.structs.replace(page, problem=problem_of(problem))
    return answer_page(request, page, status_of(problem))


# --- Labels by people ---


def _people(request: Request) -> Response:
    person = request.query_params.get("as")
    if person is not None:
        return _lead(labels_path(request.path_params["name"], check_person(person)))
    return answer_page(
        request, render_people(view_people(_found(request), request.path_params["name"]))
    )


def _next_label(request: Request) -> Response:
    person = check_person(request.path_params["person"])
    return _lead(next_label(_found(request), request.path_params["name"], person))


def _label(request: Request) -> Response:
    given = request.path_params
    rollout, cursor = parse_position(given["position"]), parse_cursor(request.query_params)
    person = check_person(given["person"])
    view = view_label(_found(request), given["name"], person, rollout, cursor)
    token = request.app.state.form_token
    return answer_page(request, render_label(replace(view, form_token=token)))


async def _give_label(request: Request) -> Response:
    """Keep the label and lead to the next rollout."""
    label = (await _own_form(request)).get("label", "")
    return await to_thread.run_sync(_keep_label, request, label)


def _keep_label(request: Request, label: str) -> Response:
    run, given = _found(request), request.path_params
    rollout, person = parse_position(given["position"]), check_person(given["person"])
    give_label(run, person, rollout, label)
    return _lead(next_label(run, given["name"], person, after=rollout))


# --- While a run goes on ---


async def _events(request: Request) -> Response:
    """Server-sent events: `grown` with counts when rollouts were added, `ended` at the end."""
    run = await to_thread.run_sync(_followed, request)
    known = known_count(request.headers, request.query_params)
    return StreamingResponse(watch(run, known), headers=EVENT_HEADERS)


async def _list_events(request: Request) -> Response:
    """Server-sent events: `grown` when a run or training began, changed or ended."""
    known = known_count(request.headers, request.query_params)
    return StreamingResponse(watch_list(_library(request), known), headers=EVENT_HEADERS)


async def watch(run: FollowedRun, known: int | None) -> AsyncIterator[bytes]:
    """The events of a run of which a page shows `known` rollouts, until it ends.

    They tell of what a page would show: what it cannot yet is no news.
    """
    quiet, steered = 0.0, None
    yield FIRST_EVENT
    while True:
        shown = await to_thread.run_sync(run.measured)
        count = len(shown.index)
        before, steered = steered, shown.changes
        if count != known or before not in (None, steered):
            known, quiet = count, 0.0
            yield event("grown", at=count, lines=count)
        if not shown.is_live:
            yield event("ended", status=shown.status)
            return
        await anyio.sleep(_LOOK_SECONDS)
        quiet += _LOOK_SECONDS
        if quiet >= _ALIVE_SECONDS:
            quiet = 0.0
            yield STILL_THERE


# --- Downloads ---

_CHUNK = 1 << 16
_ENCODER = msgspec.json.Encoder()


def download(saved: SavedRun, form: str) -> Response:
    """The run in a form, as an attachment; raises as `find_download` and `write_download` do."""
    headers = find_download(form).headers(saved.folder.run_id)
    if form == JSON_LINES:
        return StreamingResponse(_lines(saved), headers=headers)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prime-download-"))
        path = write_download(saved, form, Path(folder))
        chunks = _chunks(path, stack.pop_all())
    return StreamingResponse(chunks, headers=headers)


def _chunks(path: Path, folder: ExitStack) -> Iterator[bytes]:
    """The bytes of a file, whose folder is then removed: Windows removes no file that is open."""
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _lines(saved: SavedRun) -> Iterator[bytes]:
    for row in saved.rows():
        yield _ENCODER.encode(official_row(row)) + b"\n"
