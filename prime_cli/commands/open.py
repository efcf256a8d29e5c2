"""`prime open`, and `prime eval view --web`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import CONTEXT, OFFLINE, QUIET, common_options, open_session
from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.installation import require
from prime_cli.core.refs import EnvRef
from prime_cli.runs.listing import HERE, RunRoots, find_run
from prime_cli.runs.saved_run import SavedRun
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.web.library import Library

BrowserOpt = Annotated[
    bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
]
PortOpt = Annotated[
    int,
    typer.Option(
        "--port",
        metavar="PORT",
        min=0,
        max=65535,
        help="The port to listen on.",
        show_default="a free one",
    ),
]


@common_options(QUIET, CONTEXT, OFFLINE, effects=WRITES)
def open_pages(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[OWNER/NAME|RUN]",
            help="An environment, or a run's or training's id or folder.",
            show_default="the list of runs",
        ),
    ] = None,
    port: PortOpt = 0,
    no_browser: BrowserOpt = False,
) -> None:
    """Show runs and environments in a browser.

    Shows the runs and trainings of this folder, including those in progress, and the environments
    of the hub on this machine. Only your browser can open the pages. Ctrl-C stops the server.

    \b
    Example:
      prime open
      prime open 1f2e3d4c
      prime open starter/alphabet-sort --no-browser --port 8800
    \b
    See also: `prime eval view`, `prime eval export`, `prime hub serve`.
    """
    session = open_session(ctx)
    _require_pages()
    from prime_cli.web.library import Library

    path, also = _page_of(name, Path.cwd())
    serve(session, Library(Path.cwd(), HERE, also), path, port, browser=not no_browser)


def view_runs(
    session: Session, runs: Sequence[str], roots: RunRoots, *, port: int, browser: bool
) -> None:
    """`prime eval view --web`: the list, one run, or up to four compared."""
    _require_pages()
    from prime_cli.web.library import Library, run_path

    cwd = Path.cwd()
    folders = [find_run(run, cwd, roots).folder.path for run in runs]
    library = Library(cwd, roots, folders)
    names = library.names_of(folders)
    path = "/runs"
    if len(names) == 1:
        path = run_path(names[0])
    elif names:
        path = "/compare?" + urlencode([("run", each) for each in names])
    serve(session, library, path, port, browser=browser)


def open_labelling(
    session: Session, run: SavedRun, person: str, port: int, *, browser: bool
) -> None:
    """`prime judge label`: the page on which `person` labels a run's rollouts."""
    _require_pages()
    from prime_cli.web.labels import labels_path, require_labels
    from prime_cli.web.library import Library

    require_labels(run)
    library = Library(Path.cwd(), HERE, [run.folder.path])
    (name,) = library.names_of(library.also)
    serve(session, library, labels_path(name, person), port, browser=browser)


def serve(session: Session, library: "Library", path: str, port: int, *, browser: bool) -> None:
    """Serve until Ctrl-C; raises Conflict for a port in use."""
    from prime_cli.client.accounts.browser_login import has_desktop, open_page
    from prime_cli.web.server import open_box, serve_pages

    output = session.output

    def announce(address: str) -> None:
        output.text(address, record={"url": address})
        if browser and has_desktop() and open_page(address):
            output.say("It opens in your browser. Ctrl-C stops it")
        else:
            output.say("Open this address, which works once. Ctrl-C stops it")

    serve_pages(
        library, open_box(session.box_folder(), session.config.owner.value), path, port, announce
    )
    output.say("Ended")


def _require_pages() -> None:
    require("hub", "Showing pages", "jinja2", "granian")


def _page_of(name: str | None, cwd: Path) -> tuple[str, list[Path]]:
    """The page that shows `name`, and the folder of a run that it names."""
    from prime_cli.pages.links import environment_path

    if name is None:
        return "/runs", []
    is_path = (cwd / name).exists()
    try:
        saved = find_run(name, cwd)
    except NotFound as error:
        ref = None if is_path else _environment(name)
        if ref is None:
            raise NotFound(
                f"`{name}` is neither a run here nor an environment",
                hint="list runs with `prime eval list`, environments with `prime env list`",
            ) from error
        return environment_path(ref.slug), []
    folder = saved.folder.path
    is_training = saved.manifest is not None and isinstance(saved.manifest.training, dict)
    return _path_of_run(folder, is_training=is_training), [folder]


def _path_of_run(folder: Path, *, is_training: bool) -> str:
    from prime_cli.web.library import plain_name, run_path, training_path

    name = plain_name(folder.resolve())
    return training_path(name) if is_training else run_path(name)


def _environment(name: str) -> EnvRef | None:
    try:
        return EnvRef.parse(name)
    except PrimeError:
        return None
