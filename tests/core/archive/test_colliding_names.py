"""Two names in one archive that are one file on macOS and Windows."""

import io
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.archive.limits import ArchiveLimits, folded
from prime_cli.core.archive.members import Names, inspect_archive
from prime_cli.core.archive.wheels import read_wheel
from prime_cli.core.errors import UnsafeContent
from tests.helpers.wild import write_wheel

COMPOSED, DECOMPOSED = "caf\u00e9.txt", "cafe\u0301.txt"
COLLIDING = [
    ("README.md", "readme.md"),
    ("pkg/Data.json", "pkg/data.json"),
    ("pkg/a.py", "PKG/b.py"),
    ("pkg", "PKG/b.py"),
    (COMPOSED, DECOMPOSED),
    (COMPOSED, DECOMPOSED.upper()),
    ("stra\u00dfe.txt", "STRASSE.txt"),
    ("pkg/", "Pkg/"),
]
BESIDE = [
    ("README.md", "pkg/readme.md"),
    ("a.py", "a_.py"),
    ("pkg/a.py", "pkg/b.py"),
    ("pkg/", "pkg/a.py"),
    (COMPOSED, "cafe.txt"),
]


def zipped(names: tuple[str, ...]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return file


def tarred(names: tuple[str, ...]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name in names:
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(info)
    return file


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("names", COLLIDING, ids=ascii)
def test_names_of_one_file_are_refused(
    make: Callable[[tuple[str, ...]], io.BytesIO], names: tuple[str, str]
) -> None:
    for order in (names, names[::-1]):
        with pytest.raises(UnsafeContent, match=r"contains both|as the folder of"):
            inspect_archive(make(order))


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("names", BESIDE, ids=ascii)
def test_names_of_two_files_pass(
    make: Callable[[tuple[str, ...]], io.BytesIO], names: tuple[str, str]
) -> None:
    files = [name for name in names if not name.endswith("/")]
    assert [member.path for member in inspect_archive(make(names))] == files


def test_wheel_with_both_is_refused(tmp_path: Path) -> None:
    code = "def load_environment(): ...\n"
    wheel = write_wheel(tmp_path, {"tiny_env.py": code, "README.md": "", "readme.md": ""})
    with pytest.raises(UnsafeContent, match=r"contains both `README\.md` and `readme\.md`"):
        read_wheel(wheel)


def test_wheel_that_installs_one_file_twice_is_refused(tmp_path: Path) -> None:
    code = "def load_environment(): ...\n"
    inner = "tiny_env-0.1.0.data/purelib/Tiny_Env.py"
    wheel = write_wheel(tmp_path, {"tiny_env.py": code, inner: "import os\n"})
    with pytest.raises(UnsafeContent, match="contains both"):
        read_wheel(wheel)


@given(st.text(min_size=1), st.sampled_from(["NFC", "NFD"]))
def test_folding_forgets_case_and_composition(name: str, form: str) -> None:
    assert folded(name) == folded(unicodedata.normalize(form, name))  # type: ignore[arg-type]
    assert folded(name) == folded(unicodedata.normalize("NFD", name).casefold())
    assert folded(folded(name)) == folded(name)


@given(st.lists(st.sampled_from(["a", "A", "b", "B", "c"]), min_size=1, max_size=4), st.data())
def test_order_of_members_does_not_matter(parts: list[str], data: st.DataObject) -> None:
    names = [f"{part}/{place}" for place, part in enumerate(parts)]

    def is_taken(names: list[str]) -> bool:
        seen = Names(limits=ArchiveLimits())
        try:
            for name in names:
                seen.take(name)
        except UnsafeContent:
            return False
        return True

    expected = len({part.lower() for part in parts}) == len(set(parts))
    assert is_taken(data.draw(st.permutations(names))) == expected
