"""The shapes of the wild go the whole way as a user types it: upload, install, evaluate.

One home serves all of them, so that those which need the same packages share them.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prime_cli.core.paths import prime_home
from tests.helpers.cli import Result, prime_process
from tests.helpers.hubs import open_hub, publish
from tests.helpers.venvs import python_at_hand
from tests.helpers.wild import (
    OLD_MULTI_TURN,
    RAISES_AT_IMPORT,
    SINGLE_TURN,
    STOP_DECORATOR,
    TASKSET,
    TOOL_RUBRIC,
    WILD,
    Shape,
    write_project,
    write_wheel,
)

pytestmark = pytest.mark.slow

ORACLE = ("-m", "builtin/oracle", "-n", "2", "-r", "2")
PYTHON_3_12 = python_at_hand("3.12")
FOUND = {"tool-rubric": "0.1.5.post0", "old-multi-turn": "0.1.5.post0", "v1": "0.4.0"}
"""The verifiers that a shape gets, where it is not the last one with v0."""
REFUSED = ("files-left-out", "not-an-environment")
"""Shapes that are told at build what is wrong with them."""
UNREACHABLE = ("direct-url", "uv-sources")
"""Shapes whose host does not exist; one that does is tested below."""
RUNNING = sorted({*WILD} - {*REFUSED, *UNREACHABLE})


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wild")


@pytest.fixture(autouse=True)
def one_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_HOME", str(shared_home))
    if PYTHON_3_12 is not None:
        monkeypatch.setenv("PATH", str(Path(PYTHON_3_12).parent), prepend=":")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands are typed: without a workspace, and not the project's."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def evaluate(environment: str | Path, *more: str) -> Result:
    words = ("eval", "run", str(environment), *ORACLE, *more, "--output", "json")
    return prime_process(*words, timeout=300)


def project(folder: Path, name: str, shape: Shape) -> tuple[Path, str]:
    """The folder of a project of this shape with a name of its own, and its ref."""
    own = replace(shape, name=f"{name}-env") if shape.name == "tiny-env" else shape
    return write_project(folder / name, own), f"ada/{own.name}"


@pytest.mark.sample(1, "name")
@pytest.mark.parametrize("name", RUNNING)
def test_a_shape_goes_the_whole_way(name: str, tmp_path: Path, here: Path) -> None:
    if name == "narrow-python" and PYTHON_3_12 is None:
        pytest.skip("Python 3.12 is not on this machine")
    folder, ref = project(tmp_path, name, WILD[name])
    arguments = ("-a", '{"language": "de"}') if name == "required-arguments" else ()

    prime_process("env", "upload", str(folder), timeout=300).ok()
    isolated = evaluate(ref, *arguments)
    prime_process("env", "install", ref, timeout=300).ok()
    installed = evaluate(ref, *arguments, "--offline")

    for run in (isolated, installed):
        report = run.ok().json
        assert report["counts"]["scored"] == report["counts"]["planned"] in (2, 4)
        assert report["reward"]["mean"] == 1.0
    assert isolated.json["environment"]["verifiers"] == FOUND.get(name, "0.3.1")
    assert "has the same wheel" in installed.err
    assert (here / ".venv").is_dir()


@pytest.mark.sample(1, "name")
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_reported_before_it_is_published(name: str, tmp_path: Path) -> None:
    folder, ref = project(tmp_path, name, WILD[name])
    for command in ("build", "upload"):
        assert prime_process("env", command, str(folder), timeout=300).code == 9
    assert prime_process("env", "info", ref).code == 6


@dataclass(frozen=True)
class Published:
    """A wheel published on a day, what it is evaluated with, and what is said on the way."""

    day: str
    source: str
    verifiers: str
    said: str = "when it was published: verifiers"
    requires: tuple[str, ...] = field(default=("verifiers",))


PUBLISHED = {
    "of-the-first-days": Published("2025-09-01", SINGLE_TURN, "0.1.3"),
    "with-a-rubric-that-went": Published("2025-10-01", TOOL_RUBRIC, "0.1.4"),
    "of-the-first-family": Published("2025-10-15", OLD_MULTI_TURN, "0.1.5.post0"),
    "of-the-second-family": Published("2026-02-01", STOP_DECORATOR, "0.1.9.post3"),
    "of-the-third-family": Published("2026-06-15", STOP_DECORATOR, "0.1.14"),
    "before-its-verifiers": Published(
        "2025-11-12", STOP_DECORATOR, "0.1.8", "which does not fit: it uses `verifiers.stop`"
    ),
    "of-a-pre-release": Published(
        "2026-11-01", TASKSET, "0.4.1.dev86", requires=("verifiers==0.4.1.dev86",)
    ),
}


@pytest.mark.sample(1, "name")
@pytest.mark.parametrize("name", PUBLISHED)
def test_what_was_published_long_ago_runs_with_what_there_was(
    name: str, tmp_path: Path, here: Path
) -> None:
    case = PUBLISHED[name]
    day = datetime.fromisoformat(f"{case.day}T12:00+00:00").astimezone(UTC)
    hub = open_hub(prime_home() / "hub", clock=lambda: day)
    module = name.replace("-", "_")
    ref = publish(hub, tmp_path, name, files={f"{module}.py": case.source}, requires=case.requires)

    first, again = evaluate(str(ref)).ok(), evaluate(str(ref), "--offline").ok()

    assert case.said in first.err
    assert first.json["environment"]["verifiers"] == case.verifiers
    assert first.json["reward"]["mean"] == 1.0
    assert again.json["environment"]["verifiers"] == case.verifiers
    assert "Preparing" not in again.err


def test_a_verifiers_requested_by_flag_is_not_remembered_for_other_runs(
    tmp_path: Path, here: Path
) -> None:
    folder = write_project(tmp_path / "asked", Shape(name="asked-env"))
    asked = [evaluate(folder, *flag) for flag in (("--verifiers", "0.1.14"), ())]
    assert [run.ok().json["environment"]["verifiers"] for run in asked] == ["0.1.14", "0.3.1"]


def test_two_that_put_the_same_file_into_site_packages_live_in_one_venv(
    tmp_path: Path, here: Path
) -> None:
    shape = WILD["root-files"]
    refs = []
    for name in ("root-one", "root-two"):
        own = replace(shape, name=name, module=name.replace("-", "_"))
        uploaded = prime_process("env", "upload", str(write_project(tmp_path / name, own)))
        assert "into the root of site-packages" in uploaded.ok().err
        refs.append(f"ada/{name}")

    prime_process("env", "install", *refs, timeout=300).ok()

    listed = prime_process("env", "list", "--installed", "--output", "json").ok().json
    assert [row["origin"]["ref"] for row in listed["environments"]] == [
        f"{ref}@0.1.0" for ref in refs
    ]
    for ref in refs:
        assert evaluate(ref).ok().json["reward"]["mean"] == 1.0


def test_a_wheel_with_dot_slash_members_is_published_installed_and_run(
    tmp_path: Path, here: Path
) -> None:
    wheel = write_wheel(tmp_path, {"dotted.py": SINGLE_TURN}, name="dotted", member_prefix="./")
    prime_process("env", "upload", str(wheel), timeout=300).ok()
    assert evaluate("ada/dotted").ok().json["reward"]["mean"] == 1.0
    prime_process("env", "install", "ada/dotted", timeout=300).ok()
    assert "has the same wheel" in evaluate("ada/dotted").ok().err


def test_a_requirement_by_url_comes_from_its_server_once(
    file_server: str, tmp_path: Path, here: Path
) -> None:
    helper = write_wheel(tmp_path / "served", {"helper.py": "X = 1\n"}, name="helper", requires=())
    shape = replace(
        WILD["direct-url"],
        name="by-url-env",
        body="import helper\n" + SINGLE_TURN.lstrip(),
        dependencies=("verifiers>=0.1.3", f"helper @ {file_server}/{helper.name}"),
    )
    folder = write_project(tmp_path / "by-url", shape)

    uploaded = prime_process("env", "upload", str(folder), timeout=300).ok()
    assert "requires `helper` by URL" in uploaded.err
    assert evaluate("ada/by-url-env").ok().json["reward"]["mean"] == 1.0
    assert evaluate("ada/by-url-env", "--offline").ok().json["reward"]["mean"] == 1.0
    prime_process("env", "install", "ada/by-url-env", timeout=300).ok()


def test_a_host_that_does_not_answer_is_named(tmp_path: Path, here: Path) -> None:
    folder, ref = project(tmp_path, "direct-url", WILD["direct-url"])
    patience = {"UV_HTTP_RETRIES": "0"}
    uploaded = prime_process("env", "upload", str(folder), env=patience).ok()
    assert "files.invalid did not answer" in uploaded.err
    refused = prime_process("env", "install", ref, env=patience)
    assert refused.code == 5
    assert "files.invalid did not answer, the host of the URL of `six`" in refused.err


FAULTY = {
    "raises-at-import": (RAISES_AT_IMPORT + SINGLE_TURN, 9, "this module cannot be imported"),
    "raises-in-load": (
        SINGLE_TURN.replace("    rows =", '    raise ValueError("no data")\n    rows ='),
        9,
        "no data",
    ),
    "raises-once": (
        SINGLE_TURN.replace(
            "        return float",
            '        assert answer == "0", "not this one"\n        return float',
        ),
        3,
        "2 of 4 rollouts",
    ),
    "lacks-arguments": (WILD["required-arguments"].body, 9, "needs `language`"),
}


@pytest.mark.sample(1, "name")
@pytest.mark.parametrize("name", FAULTY)
def test_code_that_raises_is_reported_by_name(name: str, tmp_path: Path, here: Path) -> None:
    source, code, said = FAULTY[name]
    folder, _ = project(tmp_path, name, Shape(body=source))
    run = prime_process("eval", "run", str(folder), *ORACLE, timeout=300)
    assert run.code == code
    assert said in run.err


def test_what_an_environment_prints_is_in_the_log_alone(tmp_path: Path, here: Path) -> None:
    source = "import os\nprint('loud')\nos.write(1, b'raw')\n" + SINGLE_TURN.lstrip()
    folder, _ = project(tmp_path, "loud", Shape(body=source))
    report = evaluate(folder).ok().json
    log = (Path(report["path"]) / "worker.log").read_text(encoding="utf-8")
    assert "loud" in log
    assert "raw" in log
