"""What a package tells about its verifiers: its uv.lock, its results, its last commit."""

import json
import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prime_cli.runtime.evidence import read_evidence
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.search_plan import plan_steps
from prime_cli.runtime.verifiers_usage import read_requirements
from tests.helpers.wheelhouse import package

V0 = "import verifiers as vf\n\n\ndef load_environment(): ...\n"
LOCK = """
version = 1
[[package]]
name = "verifiers"
version = "0.1.9"
source = { registry = "https://index.invalid/simple" }
[[package]]
name = "six"
version = "1.16.0"
source = { registry = "https://index.invalid/simple" }
[[package]]
name = "tiny-env"
version = "0.1.0"
source = { editable = "." }
"""


def in_folder(folder: Path, requires: str = "verifiers") -> WheelPackage:
    found = package(folder / "dist", V0, requires=(requires,))
    return replace(found, folder=folder)


def write_result(folder: Path, **content: object) -> None:
    file = folder / "outputs" / "evals" / "tiny--m" / "1" / "metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def steps(found: WheelPackage) -> list[tuple[str, str]]:
    reading = read_requirements(found.path, found.facts)
    planned = plan_steps(found, reading, None, read_evidence(found))
    return [(step.name, step.verifiers) for step in planned]


def test_the_versions_of_a_uv_lock_are_taken_first(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK, encoding="utf-8")

    (evidence,) = read_evidence(in_folder(tmp_path))

    assert (evidence.verifiers, evidence.pins) == ("0.1.9", ("six==1.16.0", "verifiers==0.1.9"))
    assert steps(in_folder(tmp_path))[0] == ("uv.lock", "==0.1.9")


def test_a_uv_lock_in_the_wheel_is_as_good(tmp_path: Path) -> None:
    (evidence,) = read_evidence(package(tmp_path, V0, files={"tiny/uv.lock": LOCK}))

    assert evidence.verifiers == "0.1.9"


def test_results_reveal_the_version_or_else_the_date(tmp_path: Path) -> None:
    write_result(tmp_path / "a", version_info={"vf_version": "0.1.14"})
    write_result(tmp_path / "b", date="2025-09-01", time="12:00")

    (version,) = read_evidence(in_folder(tmp_path / "a"))
    (date,) = read_evidence(in_folder(tmp_path / "b"))

    assert (version.name, version.verifiers) == ("results", "0.1.14")
    assert (date.verifiers, date.as_of) == (None, datetime(2025, 9, 2, tzinfo=UTC))


def test_results_of_our_own_runs_are_not_evidence(tmp_path: Path) -> None:
    write_result(tmp_path, version_info={"vf_version": "0.1.14"})
    (tmp_path / "outputs" / "evals" / "tiny--m" / "1" / "run.json").write_text("{}")

    assert read_evidence(in_folder(tmp_path)) == ()


def test_the_last_commit_of_an_unchanged_folder_is_a_date(tmp_path: Path) -> None:
    found = in_folder(tmp_path)
    day = "2025-11-20T12:00:00+00:00"
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "x", "--date", day)):
        subprocess.run(["git", "-C", tmp_path, *words], check=True, env={"GIT_COMMITTER_DATE": day})

    (file,) = (tmp_path / "dist").glob("*.whl")
    os.utime(file, (0, 0))
    index = (tmp_path / ".git" / "index").read_bytes()
    (evidence,) = read_evidence(found)
    assert (tmp_path / ".git" / "index").read_bytes() == index  # a look takes no lock
    (tmp_path / "edited").write_text("now", encoding="utf-8")

    assert (evidence.name, evidence.as_of) == ("git", datetime.fromisoformat(day))
    assert read_evidence(found) == ()


def test_the_release_nearest_above_the_lower_bound_comes_before_the_families(
    tmp_path: Path,
) -> None:
    planned = steps(in_folder(tmp_path, "verifiers>=0.1.9"))

    assert planned[:3] == [
        ("bound", "==0.1.9.post3"),
        ("bound", "==0.1.9.post3"),
        ("static", "==0.3.1"),
    ]


def test_other_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("not = [toml", encoding="utf-8")
    write_result(tmp_path, version_info=3, date=["x"])

    assert read_evidence(in_folder(tmp_path)) == ()


def test_odd_values_in_a_readable_file_say_nothing(tmp_path: Path) -> None:
    odd = (
        '[[package]]\nname = "six"\nsource = 5\n'
        '[[package]]\nname = "verifiers"\nversion = "0.1.9"\nsource = { registry = "r" }\n'
        '[[package]]\nname = "a"\nversion = "1\\n--index-url=x"\nsource = { registry = "r" }\n'
        '[[package]]\nname = "--index-url=x"\nversion = "1"\nsource = { registry = "r" }\n'
    )
    (tmp_path / "uv.lock").write_text(odd, encoding="utf-8")
    write_result(tmp_path, date="2024-99-99")

    (evidence,) = read_evidence(in_folder(tmp_path))

    assert (evidence.verifiers, evidence.pins) == ("0.1.9", ("verifiers==0.1.9",))


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "1" * 5000])
def test_a_lock_beyond_the_parsers_limits_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "uv.lock").write_text(text, encoding="utf-8")

    assert read_evidence(in_folder(tmp_path)) == ()


def test_a_pre_release_as_the_lower_bound_is_tried_itself(tmp_path: Path) -> None:
    planned = steps(in_folder(tmp_path, "verifiers>=0.1.15.dev11"))

    assert planned[0] == ("bound", "==0.1.15.dev11")


def test_a_family_is_not_a_lower_bound(tmp_path: Path) -> None:
    assert "bound" not in dict(steps(in_folder(tmp_path, "verifiers==0.1.*")))
