"""The interpreter of an environment: searched with real uv, tested in real Pythons, reused."""

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prime_cli.core.errors import Offline, UsageError
from prime_cli.core.progress import Silent
from prime_cli.runtime.interpreters import Interpreter, prepare_interpreter
from prime_cli.runtime.layers import interpreters_folder
from prime_cli.runtime.locks import load_lock
from prime_cli.runtime.packages import WheelPackage, with_extras
from tests.helpers.venvs import empty_cache, python_at_hand
from tests.helpers.wheelhouse import package

V0 = "import verifiers as vf\n\n\ndef load_environment():\n    return vf.SingleTurnEnv()\n"
V1 = "import verifiers.v1 as vf\n\n\nclass Words(vf.Taskset): ...\n\n\n__all__ = ['Words']\n"

PYTHON_3_12 = python_at_hand("3.12")

pytestmark = pytest.mark.usefixtures("wheelhouse")


def prepare(
    found: WheelPackage,
    progress: Silent | None = None,
    *,
    verifiers: str | None = None,
    python: str | None = None,
) -> Interpreter:
    return prepare_interpreter(
        found, verifiers=verifiers, python=python, progress=progress or Silent()
    )


@pytest.mark.sample(3, "source")
@pytest.mark.parametrize(
    ("source", "version", "found_by"),
    [
        (V0, "0.3.1", "static"),
        (V1, "0.4.0", "date"),
        (V0.replace("SingleTurnEnv", "ToolRubric"), "0.1.5.post0", "static"),
        ("import verifiers as vf\nR = vf.ToolRubric()\n" + V0, "0.1.5.post0", "static"),
        ("import verifiers as vf\n\n@vf.stop\ndef s(): ...\n" + V0, "0.3.1", "static"),
        (V0 + "ROW = {'answer': '', 'task': 'maths'}\n", "0.1.12", "static"),
    ],
)
def test_the_verifiers_that_the_source_needs_is_found(
    tmp_path: Path, source: str, version: str, found_by: str
) -> None:
    interpreter = prepare(package(tmp_path, source))

    assert (interpreter.verifiers, interpreter.found_by) == (version, found_by)
    assert installed_version(interpreter) == version


@pytest.mark.slow
def test_import_errors_are_found_by_importing(tmp_path: Path) -> None:
    hidden = "import importlib\ngetattr(importlib.import_module('verifiers'), 'Tool' + 'Rubric')\n"
    progress = Silent()

    interpreter = prepare(package(tmp_path, hidden + V0), progress)

    assert (interpreter.verifiers, interpreter.found_by) == ("0.1.5.post0", "search")
    assert any("Trying verifiers 0.1.14" in line for line in progress.said)
    assert all("\n" not in line for line in progress.said)


@pytest.mark.slow
def test_a_load_that_names_what_the_library_lacks_sends_the_search_on(tmp_path: Path) -> None:
    late = "    getattr(vf, 'Tool' + 'Rubric')\n    return vf.SingleTurnEnv()\n"
    progress = Silent()

    source = V0.replace("    return vf.SingleTurnEnv()\n", late)
    interpreter = prepare(package(tmp_path, source), progress)

    assert interpreter.lock is not None
    tried = interpreter.lock.tried
    assert (interpreter.verifiers, interpreter.found_by) == ("0.1.5.post0", "search"), tried
    assert [each.verifiers for each in tried] == [
        "0.3.1",
        "0.1.14",
        "0.1.12",
        "0.1.9.post3",
    ]
    assert "loading it raised AttributeError: module 'verifiers' has no" in tried[0].why
    assert tried[1].why == "it has no `verifiers.ToolRubric`"


@pytest.mark.sample(1, "builder")
@pytest.mark.parametrize(("builder", "is_tried"), [("build", False), ("globals()['build']", True)])
def test_a_builder_of_the_data_set_is_not_given_to_a_release_that_takes_none(
    tmp_path: Path, builder: str, is_tried: bool
) -> None:
    """Whether the source shows it, or only the AttributeError that verifiers raises."""
    made = f"vf.SingleTurnEnv(dataset={builder})"
    source = "def build(): ...\n" + V0.replace("vf.SingleTurnEnv()", made)

    interpreter = prepare(package(tmp_path, source, requires=("verifiers>=0.1.9",)))

    assert interpreter.verifiers == "0.3.1"
    assert interpreter.lock is not None
    tried = [each.verifiers for each in interpreter.lock.tried]
    assert ("0.1.9.post3" in tried) == is_tried


def test_what_the_source_rules_out_today_is_not_resolved(tmp_path: Path) -> None:
    progress = Silent()

    prepare(package(tmp_path, V0), progress)

    assert progress.said == ["Trying verifiers 0.3.1: `tiny_env` has load_environment"]


def test_a_load_that_fails_for_its_own_reasons_does_not(tmp_path: Path) -> None:
    progress = Silent()
    source = V0.replace("    return vf", "    raise OSError('no data set')\n    return vf")

    assert prepare(package(tmp_path, source), progress).verifiers == "0.3.1"
    assert sum("Trying" in line for line in progress.said) == 1


@pytest.mark.slow
def test_a_claimed_date_is_searched_with_and_kept_in_the_lock(tmp_path: Path) -> None:
    found = package(tmp_path, V0)
    plain = prepare(found)
    claim = datetime(2025, 9, 1, tzinfo=UTC)

    claimed = prepare_interpreter(replace(found, published=claim), claim=claim, progress=Silent())

    assert plain.lock is not None
    assert claimed.lock is not None
    assert (plain.lock.published_as_of, claimed.lock.published_as_of) == (None, "2025-09-01")
    kept = load_lock(prime_home_of(claimed), found.sha256)
    assert kept is not None
    assert kept.published_as_of == "2025-09-01"


def test_a_package_that_declares_no_verifiers_gets_one(tmp_path: Path) -> None:
    assert prepare(package(tmp_path, V0, requires=())).verifiers == "0.3.1"


def test_a_packages_own_bounds_are_respected(tmp_path: Path) -> None:
    found = package(tmp_path, V0, requires=("verifiers>=0.1.9,<0.1.13",))

    interpreter = prepare(found)

    assert (interpreter.verifiers, interpreter.found_by) == ("0.1.12", "date")


def test_a_prerelease_is_taken_only_when_it_is_requested(tmp_path: Path) -> None:
    lines = "import dataset_tools\nassert dataset_tools.VERSION == {!r}\n"
    stable = package(tmp_path / "a", lines.format("1.0") + V0, requires=("dataset-tools",))
    early = package(
        tmp_path / "b", lines.format("2.0rc1") + V0, requires=("dataset-tools>=2.0rc0",)
    )

    assert prepare(stable).generation == "v0"
    assert prepare(early).generation == "v0"


@pytest.mark.skipif(PYTHON_3_12 is None, reason="Python 3.12 is not on this machine")
def test_a_narrow_requires_python_is_met_by_another_python_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(PYTHON_3_12 or "").parent))

    interpreter = prepare(package(tmp_path, V0, requires_python="==3.12.*"))

    assert interpreter.python_version.startswith("3.12.")


def test_members_that_begin_with_a_dot_slash_are_installed(tmp_path: Path) -> None:
    assert prepare(package(tmp_path, V0, member_prefix="./")).verifiers == "0.3.1"


def test_an_interpreter_is_reused_in_milliseconds_without_uv(
    tmp_path: Path, wheelhouse: Path
) -> None:
    found = package(tmp_path, V0)
    first = prepare(found)
    shutil.rmtree(wheelhouse)
    progress = Silent()

    started = time.process_time()
    second = prepare(found, progress)

    assert time.process_time() - started < 0.2
    assert second == first
    assert progress.said == []


def test_a_lock_that_comes_from_the_hub_later_changes_nothing(tmp_path: Path) -> None:
    found = package(tmp_path, V0)
    first = prepare(found)
    assert first.lock is not None
    progress = Silent()

    again = prepare_interpreter(found, lock=first.lock, progress=progress)

    assert again == first
    assert progress.said == []


def test_an_interpreter_that_lost_its_python_is_recreated(tmp_path: Path) -> None:
    found = package(tmp_path, V0)
    first = prepare(found)
    first.python.unlink()
    locks = sorted((prime_home_of(first) / "locks").iterdir())
    lines = ("[[package]]", 'name = "verifiers"', 'version = "0.1.9"', 'source.registry = "x"')
    (tmp_path / "uv.lock").write_text("\n".join(lines), encoding="utf-8")

    second = prepare(replace(found, folder=tmp_path))

    assert installed_version(second) == "0.3.1"
    # The lock kept here was enough: what its folder tells was not asked.
    assert sorted((prime_home_of(first) / "locks").iterdir()) == locks


def test_an_edited_environment_keeps_its_packages(tmp_path: Path) -> None:
    first = prepare(package(tmp_path / "a", V0))
    progress = Silent()

    second = prepare(package(tmp_path / "b", V0 + "# edited\n"), progress)

    assert second.digest != first.digest
    assert progress.said == ["Using the lock of an earlier build: verifiers 0.3.1"]
    assert len(list(interpreters_folder(prime_home_of(first)).glob("[0-9a-f]*/prime-ready"))) == 3


def test_makers_at_the_same_time_end_with_the_same_interpreter(tmp_path: Path) -> None:
    found = package(tmp_path, V0)

    with ThreadPoolExecutor(4) as pool:
        interpreters = set(pool.map(lambda _: prepare(found).python, range(4)))

    (python,) = interpreters
    leftovers = [p.name for p in python.parent.parent.parent.iterdir() if p.name.startswith(".")]
    assert leftovers == []


@pytest.mark.slow
def test_verifiers_requested_by_flag_overrule_the_package(tmp_path: Path) -> None:
    found = package(tmp_path, V0, requires=("verifiers>=0.3",))

    asked = prepare(found, verifiers="0.1.14")
    plain = prepare(found)

    assert (asked.verifiers, asked.found_by) == ("0.1.14", "--verifiers")
    assert plain.verifiers == "0.3.1"


@pytest.mark.parametrize("asked", ["banana", "0.1.x", "git+https://example.org/x"])
def test_an_invalid_version_of_verifiers_is_refused(tmp_path: Path, asked: str) -> None:
    with pytest.raises(UsageError):
        prepare(package(tmp_path, V0), verifiers=asked)


def test_a_lock_is_used_before_anything_is_searched(tmp_path: Path) -> None:
    found = package(tmp_path, V0)
    lock = prepare(found, verifiers="0.1.14").lock
    progress = Silent()

    interpreter = prepare_interpreter(found, lock=lock, progress=progress)

    assert interpreter.verifiers == "0.1.14"
    assert progress.said == ["Using the lock from the hub: verifiers 0.1.14"]


def test_a_lock_that_does_not_work_is_replaced_by_a_search(tmp_path: Path) -> None:
    lock = prepare(package(tmp_path / "v1", V1)).lock
    progress = Silent()

    interpreter = prepare_interpreter(package(tmp_path / "v0", V0), lock=lock, progress=progress)

    assert interpreter.verifiers == "0.3.1"
    assert interpreter.lock is not None
    assert interpreter.lock.found_by == "static"


def test_more_packages_make_another_interpreter_and_leave_the_first_alone(tmp_path: Path) -> None:
    found = package(tmp_path, f"try:\n    import dataset_tools\nexcept ImportError: ...\n{V0}")
    plain, more = (
        prepare_interpreter(found, requirements=asked, progress=Silent())
        for asked in ((), ("dataset-tools<2",))
    )
    assert [_locked(each).get("dataset-tools") for each in (plain, more)] == [None, "1.0"]
    assert prepare(found).digest == plain.digest


@pytest.mark.slow
def test_an_extra_makes_another_interpreter_and_needs_no_other_lock(tmp_path: Path) -> None:
    requires = ("verifiers>=0.1.3", "dataset-tools<2; extra == 'data'")
    found = package(tmp_path, V0, requires=requires)
    plain = prepare(found)
    more = prepare_interpreter(with_extras(found, ("data",)), lock=plain.lock, progress=Silent())
    assert [_locked(each).get("dataset-tools") for each in (plain, more)] == [None, "1.0"]


def _locked(interpreter: Interpreter) -> dict[str, str]:
    assert interpreter.lock is not None
    return {each.name: each.version for each in interpreter.lock.packages}


def test_keys_of_the_user_are_not_shown_to_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "secret")
    source = "import os\nassert 'PRIME_API_KEY' not in os.environ\n" + V0

    assert prepare(package(tmp_path, source)).generation == "v0"


def test_a_module_that_prints_and_starts_threads_passes(tmp_path: Path) -> None:
    source = (
        "import threading, time\nprint('{\"stage\": 1}')\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
    )

    assert prepare(package(tmp_path, source + V0)).generation == "v0"


@pytest.mark.slow
def test_offline_without_the_packages_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.delenv("UV_FIND_LINKS")
    monkeypatch.setenv("UV_CACHE_DIR", str(empty_cache(tmp_path / "empty")))

    with pytest.raises(Offline) as raised:
        prepare_interpreter(package(tmp_path, V0), offline=True, progress=Silent())

    assert "--offline" in (raised.value.hint or "")


def test_a_sibling_wheel_provides_a_package_that_no_index_has(tmp_path: Path) -> None:
    helper = package(tmp_path, "VALUE = 1\n", name="our_helper", requires=())
    found = package(tmp_path, "import our_helper\n" + V0, requires=("our-helper", "verifiers"))

    interpreter = prepare_interpreter(found, extra_wheels=lambda: [helper], progress=Silent())

    assert interpreter.generation == "v0"
    assert interpreter.lock is not None
    assert "our-helper" not in [locked.name for locked in interpreter.lock.packages]


def installed_version(interpreter: Interpreter) -> str:
    code = "import json, importlib.metadata as m; print(json.dumps(m.version('verifiers')))"
    done = subprocess.run(
        [interpreter.python, "-I", "-c", code], capture_output=True, check=True, timeout=60
    )
    return str(json.loads(done.stdout))


def prime_home_of(interpreter: Interpreter) -> Path:
    depth = 3 if sys.platform != "win32" else 2
    return interpreter.python.parents[depth]


def test_what_asks_for_input_at_import_is_left_to_the_run(tmp_path: Path) -> None:
    """There it fails by name, or is answered with `--debug`; breakpoints stop there alone."""
    asking = (
        "import pdb\nimport sys\n\nbreakpoint()\npdb.set_trace()\n"
        "while not sys.stdin.readline():\n    pass\n\n\n"
    )
    progress = Silent()
    assert prepare(package(tmp_path, asking + V0), progress).verifiers == "0.3.1"
    assert progress.warned == []
