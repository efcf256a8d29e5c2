"""Code written for the earlier API of a package gets a release of that package which has it."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.progress import Silent
from prime_cli.runtime.interpreters import prepare_interpreter
from prime_cli.runtime.moved_packages import MOVED_PACKAGES
from prime_cli.runtime.verifiers_usage import read_requirements
from tests.helpers.wheelhouse import package
from tests.helpers.wild import write_wheel

LOADER = "\n\ndef load_environment():\n    return vf.SingleTurnEnv()\n"
CALL = "prime_sandboxes.CreateSandboxRequest(name='x', docker_image='x', start_command={})\n"
SOURCE = "import prime_sandboxes\nimport verifiers as vf\n"
TEXT = SOURCE + CALL.format("'tail -f /dev/null'") + LOADER
REQUIRES = ("verifiers", "prime-sandboxes")
MODELS = {
    "0.2.36": "def CreateSandboxRequest(**fields): return fields\n",
    "0.5.1": "def CreateSandboxRequest(start_command, **_): start_command['executable']\n",
}
"""Stand-ins with what moved in the real ones."""


@pytest.fixture(autouse=True)
def sandboxes(wheelhouse: Path) -> Path:
    """The wheelhouse with an earlier and a later release of the package that moved."""
    for version, source in MODELS.items():
        files = {"prime_sandboxes.py": source}
        write_wheel(wheelhouse, files, name="prime_sandboxes", version=version, requires=())
    return wheelhouse


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import verifiers as vf\nE = vf.SandboxEnv", "it uses `verifiers.SandboxEnv`"),
        ("from verifiers import PythonEnv", "it uses `verifiers.PythonEnv`"),
        (
            "from verifiers.envs.sandbox_env import SandboxEnv\nclass E(SandboxEnv): ...",
            "it uses `verifiers.SandboxEnv`",
        ),
        (
            "try:\n  from verifiers import SandboxEnv\nexcept ImportError:\n  raise",
            "it uses `verifiers.SandboxEnv`",
        ),
        (SOURCE + CALL.format("f'sleep {1}'"), "it gives `CreateSandboxRequest` a text in"),
    ],
)
def test_code_that_needs_the_earlier_api_is_read(tmp_path: Path, source: str, why: str) -> None:
    found = package(tmp_path, source + LOADER)

    reading = read_requirements(found.path, found.facts)

    assert reading.moved == MOVED_PACKAGES
    assert (reading.objection("0.3.1") or "").startswith(why)
    assert "needs prime-sandboxes<0.2.37" in (reading.objection("0.3.1") or "")
    assert reading.objection("0.3.0") is None


@pytest.mark.parametrize(
    "source",
    [
        "import verifiers as vf\nclass SandboxEnv(vf.SingleTurnEnv): ...\nE = SandboxEnv",
        SOURCE + CALL.format("{'executable': 'true'}"),
        "import verifiers.v1 as vf\nE = vf.SandboxEnv",
    ],
)
def test_other_code_takes_any_release(tmp_path: Path, source: str) -> None:
    found = package(tmp_path, source + LOADER)

    assert read_requirements(found.path, found.facts).moved == ()


def test_a_project_without_pins_gets_the_earlier_release(tmp_path: Path) -> None:
    found = package(tmp_path, TEXT, requires=REQUIRES)

    made = prepare_interpreter(found, progress=Silent())

    assert made.verifiers == "0.1.14"
    assert made.lock is not None
    assert {p.version for p in made.lock.packages if p.name == "prime-sandboxes"} == {"0.2.36"}


def test_a_verifiers_that_was_asked_for_gets_it_too(tmp_path: Path) -> None:
    found = package(tmp_path, TEXT, requires=REQUIRES)

    made = prepare_interpreter(found, verifiers="0.3.1", progress=Silent())

    assert made.lock is not None
    assert {p.version for p in made.lock.packages if p.name == "prime-sandboxes"} == {"0.2.36"}


def test_new_code_gets_the_newest_release(tmp_path: Path) -> None:
    source = SOURCE + CALL.format("{'executable': 'true'}") + LOADER
    found = package(tmp_path, source, requires=REQUIRES)

    made = prepare_interpreter(found, progress=Silent())

    assert made.verifiers == "0.3.1"
    assert made.lock is not None
    assert {p.version for p in made.lock.packages if p.name == "prime-sandboxes"} == {"0.5.1"}


def test_a_recorded_interpreter_with_the_later_api_is_refused(tmp_path: Path) -> None:
    """The stand-in of 0.1.14 gives no text itself, so only the trial can tell."""
    newer = SOURCE + CALL.format("{'executable': 'true'}") + LOADER
    lock = prepare_interpreter(
        package(tmp_path / "new", newer, requires=REQUIRES), progress=Silent()
    ).lock
    assert lock is not None
    source = SOURCE + "\n\ndef later():\n    " + CALL.format("'true'") + LOADER
    found, progress = package(tmp_path, source, requires=REQUIRES), Silent()

    made = prepare_interpreter(
        found, lock=msgspec.structs.replace(lock, wheel_sha256=found.sha256), progress=progress
    )

    said = "prime-sandboxes 0.5.1 has another API: `CreateSandboxRequest` raises TypeError"
    assert any(said in line for line in progress.said), progress.said
    assert made.verifiers == "0.1.14"


def test_a_project_that_declares_the_later_release_is_refused(tmp_path: Path) -> None:
    found = package(tmp_path, TEXT, requires=("verifiers", "prime-sandboxes==0.5.1"))

    with pytest.raises(ResolveFailed) as raised:
        prepare_interpreter(found, progress=Silent())

    assert "prime-sandboxes==0.5.1 and prime-sandboxes<0.2.37" in raised.value.message
