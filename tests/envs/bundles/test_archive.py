"""Bundles of strangers: what is refused, and that nothing is left of it."""

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.core.errors import Conflict, IntegrityError, PrimeError, UnsafeContent
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.bundles.archive import read_manifest, verify_bundle
from prime_cli.envs.bundles.manifest import FILES, HUB, NAME
from prime_cli.envs.bundles.unpacked import find_unpacked, unpack_bundle
from tests.envs.bundles.forging import (
    bundle_of,
    environment_of,
    listed,
    manifest_of,
    zip_of,
)

WHEEL = "wheels/x-1.0-py3-none-any.whl"


def _admit(file: Path, home: Path) -> None:
    unpack_bundle(file, home, {"HOME": str(home), "HF_HOME": str(home / "hf")}, Silent())


def _left(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and "uses" not in path.parts]


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/evil", "wheels/../../evil", "C:/evil", "wheels\\evil.whl", "a\x00b"],
)
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    file = bundle_of(tmp_path / "x.bundle", {name: b"evil"})
    with pytest.raises(IntegrityError):
        _admit(file, tmp_path / "home")
    assert _left(tmp_path / "home") == []


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    head = json.dumps(manifest_of({WHEEL: b"/etc/passwd"})).encode()
    entries = [(NAME, head), (WHEEL, b"/etc/passwd")]
    file = zip_of(tmp_path / "x.bundle", entries, mode=0o120777)
    with pytest.raises(UnsafeContent, match="link or device"):
        verify_bundle(file, Silent())


def test_what_is_compressed_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    bomb = bytes(50_000_000)
    head = json.dumps(manifest_of({WHEEL: bomb})).encode()
    entries = [(NAME, head), (WHEEL, bomb)]
    file = zip_of(tmp_path / "x.bundle", entries, method=zipfile.ZIP_DEFLATED)
    with pytest.raises(UnsafeContent, match="compressed members"):
        read_manifest(file)


def test_a_compressed_manifest_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "x.bundle"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, b" " * 80_000_000)
    with pytest.raises(UnsafeContent):
        read_manifest(file)


def test_bytes_other_than_promised_are_refused(tmp_path: Path) -> None:
    head = json.dumps(manifest_of({WHEEL: b"good"})).encode()
    file = zip_of(tmp_path / "x.bundle", [(NAME, head), (WHEEL, b"evil")])
    with pytest.raises(IntegrityError, match="does not match its"):
        verify_bundle(file, Silent())
    with pytest.raises(IntegrityError, match="does not match its"):
        _admit(file, tmp_path / "home")
    assert _left(tmp_path / "home") == []


@pytest.mark.parametrize("extra", ["wheels/y-1.0-py3-none-any.whl", "x"])
def test_a_member_that_the_manifest_does_not_name_is_refused(extra: str, tmp_path: Path) -> None:
    head = json.dumps(manifest_of({WHEEL: b"good"})).encode()
    file = zip_of(tmp_path / "x.bundle", [(NAME, head), (WHEEL, b"good"), (extra, b"more")])
    with pytest.raises(IntegrityError, match="disagree"):
        read_manifest(file)


def test_a_member_that_is_missing_or_comes_twice_is_refused(tmp_path: Path) -> None:
    head = json.dumps(manifest_of({WHEEL: b"good"})).encode()
    with pytest.raises(IntegrityError, match="disagree"):
        read_manifest(zip_of(tmp_path / "a.bundle", [(NAME, head)]))
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zip_of(tmp_path / "b.bundle", [(NAME, head), (WHEEL, b"good"), (WHEEL, b"evil")])
    with pytest.raises(UnsafeContent, match="twice"):
        read_manifest(twice)


@pytest.mark.parametrize("name", ["evil.pth", "wheels/evil.pth", "wheels/a/b.whl", "bin/sh"])
def test_what_has_no_place_in_a_bundle_is_refused(name: str, tmp_path: Path) -> None:
    file = bundle_of(tmp_path / "x.bundle", {name: b"x"})
    with pytest.raises(UnsafeContent):
        verify_bundle(file, Silent())
    with pytest.raises(UnsafeContent):
        _admit(file, tmp_path / "home")
    assert _left(tmp_path / "home") == []


def test_a_newer_format_is_reported(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="format 2") as caught:
        read_manifest(bundle_of(tmp_path / "x.bundle", {}, schema=2))
    assert "upgrade prime" in (caught.value.hint or "")


def test_a_file_that_is_not_a_bundle_says_so(tmp_path: Path) -> None:
    text = tmp_path / "x.bundle"
    text.write_text("nothing", encoding="utf-8")
    with pytest.raises(IntegrityError):
        read_manifest(text)
    with pytest.raises(IntegrityError, match="not a bundle"):
        read_manifest(zip_of(tmp_path / "y.bundle", [("a", b"b")]))


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    members = environment_of(tmp_path, "eve/other@6.6")
    file = bundle_of(tmp_path / "x.bundle", members, environments=[listed(members)])
    with pytest.raises(IntegrityError, match="are inconsistent"):
        _admit(file, tmp_path / "home")
    assert _left(tmp_path / "home") == []


def test_what_was_unpacked_is_found_by_name_and_version(tmp_path: Path) -> None:
    members = environment_of(tmp_path)
    file = bundle_of(tmp_path / "x.bundle", members, environments=[listed(members)])
    home = tmp_path / "home"
    _admit(file, home)
    _admit(file, home)  # once more does no harm
    for ref in (EnvRef("ada", "tiny_env"), EnvRef("ada", "tiny-env", "0.1.0")):
        found = find_unpacked(home, ref)
        assert found is not None
        assert found.wheel.is_file()
    assert find_unpacked(home, EnvRef("ada", "tiny-env", "0.2.0")) is None
    assert find_unpacked(home, EnvRef("eve", "tiny-env")) is None


def test_data_is_put_back_and_never_over_other_data(tmp_path: Path) -> None:
    cache = {"data/datasets--ada--words/refs/main": b"c0ffee"}
    plain = {"data/rows/a.txt": b"rows"}
    kinds = [{"name": "datasets--ada--words", "kind": HUB}, {"name": "rows", "kind": FILES}]
    file = bundle_of(tmp_path / "x.bundle", {**cache, **plain}, data=kinds)
    home = tmp_path / "home"
    admitted = unpack_bundle(file, home, {"HF_HOME": str(home / "hf")}, Silent())
    places = {data.name: place for data, place in admitted.data}
    words = home / "hf" / "hub" / "datasets--ada--words"
    assert places["datasets--ada--words"] == words
    assert (words / "refs" / "main").read_bytes() == b"c0ffee"
    assert (places["rows"] / "a.txt").read_bytes() == b"rows"

    (words / "refs" / "main").write_bytes(b"my own")
    with pytest.raises(Conflict, match="already exists"):
        unpack_bundle(file, home, {"HF_HOME": str(home / "hf")}, Silent())
    assert (words / "refs" / "main").read_bytes() == b"my own"


@pytest.mark.parametrize(
    "data",
    [
        {"name": "..", "kind": FILES},
        {"name": "../x", "kind": FILES},
        {"name": "plain", "kind": HUB},
        {"name": "datasets--a--b", "kind": "elsewhere"},
    ],
)
def test_data_cannot_choose_its_place(data: dict[str, str], tmp_path: Path) -> None:
    file = bundle_of(tmp_path / "x.bundle", {f"data/{data['name']}/x": b"x"}, data=[data])
    with pytest.raises(IntegrityError):
        _admit(file, tmp_path / "home")
    assert _left(tmp_path / "home") == []


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.booleans())
def test_no_damage_is_taken_for_a_bundle(at: int, value: int, tmp_path: Path, *, cut: bool) -> None:
    content = bundle_of(tmp_path / "whole.bundle", {WHEEL: b"good" * 100}).read_bytes()
    at %= len(content)
    damaged = content[:at] if cut else content[:at] + bytes([value]) + content[at + 1 :]
    file = tmp_path / "damaged.bundle"
    file.write_bytes(damaged)
    try:
        manifest = verify_bundle(file, Silent()).manifest
    except PrimeError:
        return
    # What is read all the same is what was written: only what nobody looks at had changed.
    assert [member.path for member in manifest.members] == [WHEEL]
