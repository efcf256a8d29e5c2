"""config.toml is the user's: what is edited in it changes, and nothing else does."""

import os
import stat
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.core.config.edit import (
    delete_context,
    save_context,
    set_value,
    unset_value,
    use_context,
)
from prime_cli.core.errors import NotFound, StorageFailed, UsageError

HUB = "https://hub.example.org"
WRITTEN_BY_HAND = """\
# My hubs.
owner = "ada"   # not my login

[contexts.work]   # ask Grace for a key
base_url = "https://work.example.org"
future = [1, 2]

[somebody-elses]
x = 1

[contexts.home]
base_url = "http://127.0.0.1:8480"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def _write(file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8"))


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def test_a_first_context_is_written_as_a_person_would(file: Path) -> None:
    save_context(file, "team", {"base_url": f"{HUB}/api/v1/", "team": None})
    use_context(file, "team")
    assert _read(file) == f'context = "team"\n\n[contexts.team]\nbase_url = "{HUB}"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_comments_order_and_unknown_words_stay(file: Path) -> None:
    _write(file, WRITTEN_BY_HAND)
    save_context(file, "home", {"team": "lab"})
    set_value(file, "owner", "eve")
    assert _read(file) == WRITTEN_BY_HAND.replace('"ada"', '"eve"').replace(
        '8480"\n', '8480"\nteam = "lab"\n'
    )
    save_context(file, "home", {"team": None})
    set_value(file, "owner", "ada")
    assert _read(file) == WRITTEN_BY_HAND


def test_a_deleted_context_is_not_the_current_one_either(file: Path) -> None:
    _write(file, f'context = "work"\n{WRITTEN_BY_HAND}')
    assert delete_context(file, "work")
    assert not delete_context(file, "work")
    table = tomllib.loads(_read(file))
    assert list(table["contexts"]) == ["home"]
    assert "context" not in table
    assert "# My hubs." in _read(file)


def test_what_is_so_already_is_not_written_again(file: Path) -> None:
    _write(file, WRITTEN_BY_HAND)
    before = file.stat().st_mtime_ns
    assert not set_value(file, "owner", "ada")
    assert not unset_value(file, "offline")
    assert not delete_context(file, "nowhere")
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("local", {"base_url": HUB}, "`local` is the built-in hub"),
        ("prime", {"base_url": HUB}, "The URLs of `prime` are built in"),
        ("a b", {"base_url": HUB}, "`a b` cannot be the name of a context"),
        ("", {"base_url": HUB}, "`` cannot be the name of a context"),
        ("team", {"base_url": "x.org"}, "base_url is `x.org`, which is not the URL of a hub"),
        ("team", {"base_url": "https://u:p@x"}, "base_url contains a name or a password"),
        (
            "team",
            {"web_url": "https://[::1"},
            "web_url is `https://[::1`, which is not the URL of a hub",
        ),
        (
            "team",
            {"web_url": "http://x:y"},
            "web_url is `http://x:y`, which is not the URL of a hub",
        ),
    ],
)
def test_what_cannot_be_a_context_is_refused(
    name: str, values: dict[str, str | None], message: str, file: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        save_context(file, name, values)
    assert caught.value.message == message
    assert not file.exists()


def test_a_missing_context_cannot_be_the_current_one(file: Path) -> None:
    with pytest.raises(NotFound, match="There is no context `team`"):
        use_context(file, "team")
    use_context(file, "prime")


@pytest.mark.parametrize(
    "text",
    ["owner = ", 'contexts.a.base_url = "https://a"\nowner = "ada"\n', "contexts = 3\n"],
    ids=["no-toml", "dotted-at-the-top", "no-table"],
)
def test_a_file_that_cannot_be_edited_is_left_alone(text: str, file: Path) -> None:
    _write(file, text)
    with pytest.raises(UsageError):
        save_context(file, "team", {"base_url": HUB})
    assert _read(file) == text


def test_a_link_to_a_file_elsewhere_stays_a_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "prime.toml"
    real.parent.mkdir()
    _write(real, WRITTEN_BY_HAND)
    try:
        file.symlink_to(real)
    except OSError:
        pytest.skip("links are not allowed here")
    set_value(file, "owner", "eve")
    assert file.is_symlink()
    assert '"eve"   # not my login' in _read(real)


def test_many_writers_at_once_lose_nothing(file: Path) -> None:
    _write(file, WRITTEN_BY_HAND)
    names = [f"team-{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: save_context(file, name, {"base_url": HUB}), names))
    assert set(tomllib.loads(_read(file))["contexts"]) == {"work", "home", *names}
    assert "# ask Grace for a key" in _read(file)


def test_processes_that_write_at_once_lose_nothing(file: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from prime_cli.core.config.edit import save_context\n"
        "for number in range(8):\n"
        f"    save_context(Path(sys.argv[1]), sys.argv[2] + str(number), {{'base_url': '{HUB}'}})"
    )
    _write(file, WRITTEN_BY_HAND)
    argv = [sys.executable, "-c", program, str(file)]
    writers = [subprocess.Popen([*argv, name]) for name in ("a", "b", "c")]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(tomllib.loads(_read(file))["contexts"]) == 2 + 3 * 8
    assert "# ask Grace for a key" in _read(file)


def test_a_mark_of_windows_editors_is_not_a_word(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + b'owner = "ada"\r\n# mine\r\n')
    assert set_value(file, "owner", "eve")
    assert file.read_bytes() == b'owner = "eve"\r\n# mine\r\n'


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="needs a folder nobody can write")
def test_an_unwritable_home_is_an_error() -> None:
    with pytest.raises(StorageFailed):
        set_value(Path("/proc/prime/config.toml"), "owner", "ada")


_WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("local", "prime")
)
_VALUES = st.one_of(_WORDS, st.integers(-9, 9), st.booleans(), st.lists(_WORDS, max_size=3))
_CONTEXTS = st.dictionaries(
    _NAMES, st.fixed_dictionaries({"base_url": st.just(HUB)}, optional={"note": _VALUES})
)
_TABLES = st.fixed_dictionaries(
    {},
    optional={
        "owner": _WORDS,
        "other": st.dictionaries(_WORDS, _VALUES, max_size=3),
        "contexts": _CONTEXTS,
    },
)


def _with_comments(text: str) -> str:
    """A comment above every line; tomli_w writes one value on a line, but for long lists."""
    return "".join(f"# above {n}\n{line}\n" for n, line in enumerate(text.split("\n")) if line)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(table=_TABLES, name=_NAMES, text=_WORDS)
def test_an_edit_changes_only_its_key_and_keeps_comments(
    table: dict[str, Any], name: str, text: str, file: Path
) -> None:
    before = tomli_w.dumps(table)
    commented = _with_comments(before)
    _write(file, commented)
    save_context(file, name, {"base_url": HUB, "team": "lab"})
    set_value(file, "owner", text)
    after = _read(file)
    entry = {**table.get("contexts", {}).get(name, {}), "base_url": HUB, "team": "lab"}
    contexts = {**table.get("contexts", {}), name: entry}
    assert tomllib.loads(after) == {**table, "owner": text, "contexts": contexts}
    kept = [line for line in commented.splitlines() if line.startswith("# above")]
    assert [line for line in after.splitlines() if line.startswith("# above")] == kept
