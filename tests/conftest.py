"""Every test has a home of its own, a clean environment, and no network but this machine."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from prime_cli.session import Session
from tests.helpers.cli import Prime
from tests.helpers.database import drop_databases, start_server
from tests.helpers.file_server import file_server
from tests.helpers.order import deal_longest
from tests.helpers.screenshots import SCREENSHOTS
from tests.helpers.seed import read_seed, runs_every_case, set_seed, split_sample
from tests.helpers.skips import SKIPPED, show_skips
from tests.helpers.statements import share_statements
from tests.helpers.wheelhouse import wheelhouse

__all__ = ["file_server", "wheelhouse"]

# An example may take as long as the machine lets it; what CI sets besides stays.
hypothesis.settings.register_profile(
    "unhurried",
    hypothesis.settings(deadline=None, max_examples=100 if runs_every_case() else 40),
)
hypothesis.settings.load_profile("unhurried")

_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SYSTEMROOT",
    "SSL_CERT_FILE",
    "PIP_CERT",
)
_KEPT_PREFIXES = ("UV_", "PYTEST_", "COVERAGE_", "PRIME_TEST_")
_OF_THIS_RUN = ("PYTEST_ADDOPTS", SKIPPED, "UV_PROJECT_ENVIRONMENT", "UV_PYTHON")
"""Not for a pytest that a test starts; nox names the environment of its session to uv."""
_NETWORK_MARKERS = ("slow", "network")
_SLOW_CASES = 2
"""Of each slow test, whatever its parameters are."""
_HEARD = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def pytest_configure() -> None:
    set_seed()
    share_statements()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`, two for each core: half of the time tests wait for processes of their own."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and never look at what was collected: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Lift the limit of `--allow-hosts` for tests that are marked for the network, and leave out
    the cases that the seed does not choose (of those that `-k` and `-m` select). Each of several
    processes begins with tests that are marked for the network, which install packages.
    """
    for item in items:
        if any(item.get_closest_marker(name) for name in _NETWORK_MARKERS):
            item.add_marker(pytest.mark.enable_socket)
            item.add_marker(pytest.mark.cases(_SLOW_CASES))
    items[:], left_out = split_sample(items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    processes: int = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = deal_longest(items, processes, _takes_packages)


def _takes_packages(item: pytest.Item) -> bool:
    return item.get_closest_marker("network") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_skips(terminalreporter)
    terminalreporter.write_line(f"PRIME_TEST_SEED={read_seed()}")
    if SCREENSHOTS.is_dir():
        count = len(list(SCREENSHOTS.glob("*.png")))
        terminalreporter.write_line(f"{count} screenshots of pages are in {SCREENSHOTS}")


@pytest.fixture(autouse=True, scope="session")
def heard_signals() -> Iterator[None]:
    """What `nohup` or a shell's background ignores, every process under test would ignore too."""
    ignored = [number for number in _HEARD if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        # As Python itself does where nothing ignores it: Ctrl-C ends a test, and not its process.
        is_ctrl_c = number == signal.SIGINT
        signal.signal(number, signal.default_int_handler if is_ctrl_c else signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A new HOME and PRIME_HOME, none of the user's keys and settings; the home's path."""
    home = tmp_path_factory.mktemp("home")
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    for name in list(os.environ):
        if name in _OF_THIS_RUN or (name not in _KEPT and not name.startswith(_KEPT_PREFIXES)):
            monkeypatch.delenv(name)
    settings = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PRIME_HOME": str(home / ".prime"),
        "PRIME_OWNER": "ada",
        "PRIME_UPSTREAM": "none",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "UV_CACHE_DIR": cache,  # a cold cache for every test would cost minutes
        # Where the other Pythons of this machine are, if pyenv has them.
        "PYENV_ROOT": os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield home
    # Interpreters of environments are in it: half a gigabyte for each, where the cache of uv is on
    # another disk. What a test has started may still be writing its last line there.
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def databases() -> Iterator[None]:
    """Removes what the module's hubs have made on a server, if the run is to have one."""
    start_server()
    yield
    drop_databases()


@pytest.fixture
def home(clean_environment: Path) -> Path:
    """The folder that this test has for a home."""
    return clean_environment


@pytest.fixture
def seed() -> int:
    """What this run's choices by chance depend on."""
    return read_seed()


@pytest.fixture
def prime(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Prime:
    """Call `prime` in this process: `prime("env", "list").out`."""
    return Prime(capfd, monkeypatch, Session)
