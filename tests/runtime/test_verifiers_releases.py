"""The table of releases is in order and answers questions about time and version."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.progress import Silent
from prime_cli.runtime import verifiers_releases
from prime_cli.runtime.interpreters import prepare_interpreter
from prime_cli.runtime.verifiers_releases import MOVED_PACKAGES
from prime_cli.runtime.verifiers_usage import read_requirements
from tests.helpers.wheelhouse import package
from tests.helpers.wild import write_wheel


def test_releases_are_in_order_of_time_and_of_version() -> None:
    rows = verifiers_releases.RELEASES

    assert [r.published for r in rows] == sorted(r.published for r in rows)
    assert [r.version for r in rows] == sorted(r.version for r in rows)


def test_every_name_begins_and_ends_at_a_known_release() -> None:
    known = {str(release.version) for release in verifiers_releases.RELEASES}
    spans = [*verifiers_releases.NAMES.values(), *verifiers_releases.SUBMODULES.values()]

    assert {end for span in spans for end in (span.first, span.last) if end} <= known
    assert set(verifiers_releases.REPRESENTATIVES) <= known


def test_the_newest_release_of_a_day_is_what_a_publisher_had() -> None:
    release = verifiers_releases.newest_release(before=datetime(2025, 9, 25, tzinfo=UTC))

    assert release is not None
    assert str(release.version) == "0.1.4"


def test_the_next_release_is_the_first_after_the_day() -> None:
    release = verifiers_releases.first_release_after(datetime(2025, 9, 25, tzinfo=UTC))

    assert release is not None
    assert str(release.version) == "0.1.5"


def test_a_release_was_the_newest_until_the_next_one() -> None:
    assert verifiers_releases.end_of_era(Version("0.1.14")) == datetime(
        2026, 7, 10, 20, 36, 18, tzinfo=UTC
    )
    assert verifiers_releases.end_of_era(verifiers_releases.RELEASES[-1].version) is None


def test_candidates_are_one_of_each_family_newest_first() -> None:
    found = [
        str(release.version) for release in verifiers_releases.candidates(SpecifierSet("<=0.1.12"))
    ]

    assert found == ["0.1.12", "0.1.9.post3", "0.1.5.post0"]


def test_a_gap_between_the_families_is_filled_by_any_release() -> None:
    (found,) = verifiers_releases.candidates(SpecifierSet(">=0.1.6,<0.1.8"))

    assert str(found.version) == "0.1.7.post0"


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
