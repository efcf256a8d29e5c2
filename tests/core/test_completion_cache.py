"""Names for the Tab key: bounded, safe for any shell, and never the reason of a failure."""

import string
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.core.completion_cache import MOST, forget, note, remember, replace
from tests.helpers.completion import completed_names

_ALLOWED = frozenset(string.ascii_letters + string.digits + "._/-\n")


def test_what_was_seen_last_comes_first_and_once(clean_environment: Path) -> None:
    remember("environments", ["ada/one", "ada/two"])
    remember("environments", ["ada/two", "ada/three"])
    assert completed_names("environments") == ["ada/two", "ada/three", "ada/one"]
    file = clean_environment / ".prime" / "completion" / "environments"
    assert file.read_text(encoding="ascii") == "ada/two\nada/three\nada/one\n"
    assert completed_names("models") == []


def test_what_was_deleted_is_forgotten() -> None:
    remember("evaluations", ["a", "b"])
    forget("evaluations", ["a", "c"])
    assert completed_names("evaluations") == ["b"]


def test_where_all_names_are_known_no_others_are_kept() -> None:
    remember("pods", ["old", "web"])
    replace("pods", ["web", "new"])
    assert completed_names("pods") == ["web", "new"]


def test_a_file_has_a_bounded_size() -> None:
    remember("models", [f"model-{number}" for number in range(3 * MOST)])
    assert len(completed_names("models")) == MOST
    remember("models", ["newest"])
    assert completed_names("models")[:2] == ["newest", "model-0"]
    assert len(completed_names("models")) == MOST


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.text(max_size=300)))
def test_no_name_can_be_more_than_a_name(names: list[str], clean_environment: Path) -> None:
    remember("environments", [*names, "ada/x"])
    file = clean_environment / ".prime" / "completion" / "environments"
    written = file.read_text(encoding="ascii")
    assert set(written) <= _ALLOWED
    assert all(line[0].isalnum() and len(line) <= 200 for line in written.splitlines())


def test_nothing_is_written_that_did_not_change(clean_environment: Path) -> None:
    remember("environments", [])
    assert not (clean_environment / ".prime").exists()
    remember("environments", ["ada/x"])
    file = clean_environment / ".prime" / "completion" / "environments"
    before = file.stat().st_ino
    remember("environments", ["ada/x"])
    assert file.stat().st_ino == before


def test_a_home_that_cannot_be_written_is_let_be(clean_environment: Path) -> None:
    home = clean_environment / ".prime"
    home.write_text("a file where the folder would be", encoding="utf-8")
    remember("environments", ["ada/x"])
    assert home.read_text(encoding="utf-8") == "a file where the folder would be"


def test_files_written_by_others_are_not_trusted(clean_environment: Path) -> None:
    folder = clean_environment / ".prime" / "completion"
    folder.mkdir(parents=True)
    (folder / "models").write_bytes(b"good\n$(touch x)\n\xff\xfe\n-m\n" + b"a" * 1_000_000)
    remember("models", ["new"])
    assert completed_names("models") == ["new", "good"]


def test_a_whole_list_leaves_no_other_name_and_a_page_of_one_leaves_all() -> None:
    remember("pods", ["old"])
    note("pods", ["web"], are_all=False)
    assert completed_names("pods") == ["web", "old"]
    note("pods", ["api"], are_all=True)
    assert completed_names("pods") == ["api"]
