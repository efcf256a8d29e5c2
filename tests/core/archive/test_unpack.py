"""Archives of strangers: all of one comes out below its folder, or nothing does."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.core.archive.limits import ArchiveLimits
from prime_cli.core.archive.members import inspect_archive, read_member, unpack_archive
from prime_cli.core.archive.sources import list_sources, write_source_archive
from prime_cli.core.errors import IntegrityError, NotFound, PrimeError, UnsafeContent

Entry = tuple[str, bytes]
SMALL = ArchiveLimits(members=10, total_bytes=4_000_000, free_bytes=1_000_000, ratio=50)


def tar(path: Path, *entries: Entry | tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                archive.addfile(info, io.BytesIO(entry[1]))
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(path: Path, *entries: Entry, mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


def files_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def outside(tmp_path: Path) -> Callable[[], list[str]]:
    """What lies in the parent of the target, the archive itself left out."""

    def look() -> list[str]:
        return sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("archive"))

    return look


HOSTILE_NAMES = [
    "../evil.py",
    "pkg/../../evil.py",
    "/etc/evil",
    "pkg/..",
    "C:/evil.py",
    "c:evil.py",
    "pkg\\evil.py",
    "..\\evil.py",
    "bad\nname.py",
    "x" * 2000,
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_name_that_leaves_the_folder_refuses_all(
    name: str,
    pack: Callable[..., Path],
    tmp_path: Path,
    outside: Callable[[], list[str]],
) -> None:
    archive = pack(tmp_path / "archive", ("good.py", b"pass"), (name, b"evil"))
    with pytest.raises(UnsafeContent):
        unpack_archive(archive, tmp_path / "target")
    assert outside() == []


@pytest.mark.parametrize(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc/passwd"),
        special("link", tarfile.SYMTYPE, "good.py"),
        special("hard", tarfile.LNKTYPE, "good.py"),
        special("device", tarfile.CHRTYPE),
        special("device", tarfile.BLKTYPE),
        special("pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.linkname or member.type!r}",
)
def test_links_and_devices_refuse_all(
    member: tarfile.TarInfo, tmp_path: Path, outside: Callable[[], list[str]]
) -> None:
    archive = tar(tmp_path / "archive", ("good.py", b"pass"), member)
    with pytest.raises(UnsafeContent, match="link or device"):
        unpack_archive(archive, tmp_path / "target")
    assert outside() == []


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "archive", ("link", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777)
    with pytest.raises(UnsafeContent, match="link or device"):
        unpack_archive(archive, tmp_path / "target")


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a.py", "./a.py"), ("a", "a/b"), ("a/b", "a"), ("", "b")])
def test_a_name_used_twice_refuses_all(
    names: tuple[str, str], pack: Callable[..., Path], tmp_path: Path
) -> None:
    archive = pack(tmp_path / "archive", *((name, b"x") for name in names))
    with pytest.raises(PrimeError):
        unpack_archive(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("pack", [tar, zipped])
def test_ten_thousand_files_are_refused(pack: Callable[..., Path], tmp_path: Path) -> None:
    archive = pack(tmp_path / "archive", *((f"f{index}", b"") for index in range(10_000)))
    with pytest.raises(UnsafeContent, match="more than 5000 members"):
        unpack_archive(archive, tmp_path / "target")


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_bomb_is_refused_before_it_is_written(pack: Callable[..., Path], tmp_path: Path) -> None:
    if pack is tar:
        archive = tar(tmp_path / "archive", ("bomb", b"\0" * 3_000_000))
    else:
        archive = tmp_path / "archive"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("bomb", b"\0" * 3_000_000)
    with pytest.raises(UnsafeContent, match="far more"):
        unpack_archive(archive, tmp_path / "target", limits=SMALL)
    assert not (tmp_path / "target").exists()


def test_ten_gigabytes_of_nothing_are_refused_at_once(tmp_path: Path) -> None:
    """The header alone promises 10 GB; what follows is never read."""
    info = tarfile.TarInfo("bomb")
    info.size = 10 * 1024**3
    archive = tmp_path / "archive"
    archive.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024))
    with pytest.raises(UnsafeContent, match="far more"):
        unpack_archive(archive, tmp_path / "target")


def test_a_long_name_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    """A GNU long name of 30 MB would be read into memory before any member is seen."""
    header = special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    header.size = 30_000_000
    archive = tmp_path / "archive"
    archive.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"a" * 30_000_000))
    with pytest.raises(UnsafeContent, match="far more"):
        unpack_archive(archive, tmp_path / "target")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08 broken", b"PK\3\4broken"])
def test_an_invalid_archive_is_reported(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(IntegrityError):
        unpack_archive(tmp_path / "archive", tmp_path / "target")


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_flipped_byte_is_noticed(pack: Callable[..., Path], tmp_path: Path) -> None:
    archive = pack(tmp_path / "archive", ("a.bin", os.urandom(5000)))
    content = bytearray(archive.read_bytes())
    content[2500] ^= 0xFF
    archive.write_bytes(bytes(content))
    with pytest.raises(IntegrityError):
        unpack_archive(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_cut_archive_is_noticed(tmp_path: Path) -> None:
    archive = tar(tmp_path / "archive", ("a.bin", os.urandom(50_000)))
    archive.write_bytes(archive.read_bytes()[:-30_000])
    with pytest.raises(IntegrityError):
        unpack_archive(archive, tmp_path / "target")


def test_files_of_a_folder_that_exists_are_replaced_and_others_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    (target / "env.py").write_text("old")
    archive = tar(tmp_path / "archive", ("env.py", b"new"), ("pkg/a.py", b"a"))
    written = unpack_archive(archive, target)
    assert written == [target / "env.py", target / "pkg/a.py"]
    assert (target / "env.py").read_text() == "new"
    assert (target / "mine.txt").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_nothing_is_written_through_a_link_in_the_target(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (target / "pkg").symlink_to(elsewhere)
    archive = tar(tmp_path / "archive", ("pkg/a.py", b"a"))
    with pytest.raises(UnsafeContent, match="is a link"):
        unpack_archive(archive, target)
    assert list(elsewhere.iterdir()) == []


TREES = st.dictionaries(
    st.sampled_from(["a.py", "pkg/b.bin", "pkg/sub/ü.txt", "data/x", "y.py"]),
    st.binary(max_size=3000),
    min_size=1,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(files=TREES)
def test_what_is_packed_comes_out_again(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    for name, content in files.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_bytes(content)
    write_source_archive(list_sources(folder / "in"), folder / "a.tar.gz")
    unpack_archive(folder / "a.tar.gz", folder / "out")
    assert {name: (folder / "out" / name).read_bytes() for name in files} == files
    assert files_below(folder / "out") == sorted(files)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=6))
def test_any_damage_ends_in_an_error_of_ours_or_in_files_below(
    flips: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    plain = gzip.decompress(tar(folder / "archive", ("a.py", b"a"), ("b/c.py", b"c")).read_bytes())
    damaged = bytearray(plain)
    for position, value in flips:
        damaged[position % len(damaged)] = value
    (folder / "archive").write_bytes(gzip.compress(bytes(damaged)))
    try:
        written = unpack_archive(folder / "archive", folder / "target", limits=SMALL)
    except IntegrityError:
        assert not (folder / "target").exists()
    else:
        assert all(path.resolve().is_relative_to(folder / "target") for path in written)


def test_members_are_listed_and_read_from_an_open_file(tmp_path: Path) -> None:
    archive = tar(tmp_path / "archive", ("env.py", b"abcdef"), ("pkg/a.py", b"a"))
    with archive.open("rb") as file:
        assert [(m.path, m.size) for m in inspect_archive(file)] == [("env.py", 6), ("pkg/a.py", 1)]
        found = read_member(file, "env.py", max_bytes=4)
        assert (found.content, found.total_bytes, found.truncated) == (b"abcd", 6, True)
        assert not read_member(file, "pkg/a.py", max_bytes=4).truncated
        with pytest.raises(NotFound):
            read_member(file, "pkg", max_bytes=4)
