"""What goes into a bundle, and that the same goes into the same bytes."""

from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, ResolveFailed, UnsafeContent, UsageError
from prime_cli.core.progress import Silent
from prime_cli.envs.bundles.archive import read_manifest, verify_bundle
from prime_cli.envs.bundles.data import read_data
from prime_cli.envs.bundles.manifest import DATASETS, FILES, HUB
from prime_cli.envs.bundles.plan import BundleContext, BundleSpec, plan_bundle
from prime_cli.envs.bundles.platforms import parse_platform, parse_python
from tests.envs.bundles.conftest import make, publish_locked
from tests.helpers.tools import require_python

TINY = ("ada/tiny-env@0.1.0",)
LINUX = BundleSpec(TINY, ("linux-x86_64",), ("3.11",))


def _wheels(file: Path) -> list[str]:
    members = (member.path for member in read_manifest(file).members)
    return [path.removeprefix("wheels/") for path in members if path.startswith("wheels/")]


def test_the_wheels_of_the_lock_for_the_platform_and_python_and_no_others(
    context: BundleContext, tmp_path: Path
) -> None:
    file = make(context, LINUX, tmp_path / "tiny.bundle")
    assert _wheels(file) == [
        "native_tools-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "verifiers-0.1.14-py3-none-any.whl",
    ]


def test_several_platforms_and_pythons_bring_a_wheel_for_each(
    context: BundleContext, tmp_path: Path
) -> None:
    apple = BundleSpec(TINY, ("linux-x86_64", "macos-arm64", "windows-x86_64"), ("3.11",))
    names = _wheels(make(context, apple, tmp_path / "a.bundle"))
    assert [name for name in names if name.startswith("native")] == [
        "native_tools-1.0-cp311-cp311-macosx_11_0_arm64.whl",
        "native_tools-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "native_tools-1.0-cp311-cp311-win_amd64.whl",
    ]
    newer = BundleSpec(TINY, ("linux-x86_64",), ("3.11", "3.12"))
    assert len(_wheels(make(context, newer, tmp_path / "b.bundle"))) == 3


def test_a_platform_without_a_wheel_is_refused_by_name(context: BundleContext) -> None:
    with pytest.raises(ResolveFailed, match=r"native-tools 1.0 has no wheel for macos-arm64"):
        plan_bundle(BundleSpec(TINY, ("linux-x86_64", "macos-arm64"), ("3.11", "3.12")), context)


def test_a_python_that_the_environment_refuses_is_refused_first(context: BundleContext) -> None:
    with pytest.raises(ResolveFailed, match=r"requires Python >=3.11"):
        plan_bundle(BundleSpec(TINY, ("linux-x86_64",), ("3.10",)), context)


def test_the_same_inputs_give_the_same_bytes(context: BundleContext, tmp_path: Path) -> None:
    one = make(context, LINUX, tmp_path / "one.bundle")
    two = make(context, LINUX, tmp_path / "two.bundle")
    assert one.read_bytes() == two.read_bytes()


def test_every_member_has_its_digest_in_the_manifest_and_nothing_is_compressed(
    context: BundleContext, tmp_path: Path
) -> None:
    file = make(context, LINUX, tmp_path / "tiny.bundle")
    manifest = verify_bundle(file, Silent()).manifest
    assert manifest.schema == 1
    assert manifest.size < file.stat().st_size
    (environment,) = manifest.environments
    assert (environment.ref, environment.verifiers, environment.packages) == (
        "ada/tiny-env@0.1.0", "0.1.14", 2,
    )  # fmt: skip
    assert environment.sources is not None


def test_sources_can_be_left_out(context: BundleContext, tmp_path: Path) -> None:
    wish = BundleSpec(TINY, ("linux-x86_64",), ("3.11",), sources=False)
    (environment,) = read_manifest(make(context, wish, tmp_path / "a.bundle")).environments
    assert environment.sources is None


def test_a_package_without_any_wheel_is_built(context: BundleContext, tmp_path: Path) -> None:
    require_python("3.11")
    publish_locked(context.hub, tmp_path, "odd-env", {"verifiers": "0.1.14", "only-sources": "1.0"})
    wish = BundleSpec(("ada/odd-env",), ("linux-x86_64", "macos-arm64"), ("3.11",))
    file = make(context, wish, tmp_path / "odd.bundle")
    again = make(context, wish, tmp_path / "again.bundle")
    assert "only_sources-1.0-py3-none-any.whl" in _wheels(file)
    assert file.read_bytes() == again.read_bytes()


def test_environments_of_the_owner_that_are_required_come_along(
    context: BundleContext, tmp_path: Path
) -> None:
    publish_locked(context.hub, tmp_path, "big-env", {"verifiers": "0.1.14"}, "tiny-env")
    wish = BundleSpec(("ada/big-env",), ("linux-x86_64",), ("3.11",))
    found = read_manifest(make(context, wish, tmp_path / "big.bundle")).environments
    assert [(each.ref, each.required) for each in found] == [
        ("ada/big-env@0.1.0", False),
        ("ada/tiny-env@0.1.0", True),
    ]


@pytest.mark.parametrize("text", ["linux", "linux-riscv64", "any", "Linux-x86_64"])
def test_an_unknown_platform_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a supported platform"):
        parse_platform(text)


@pytest.mark.parametrize("text", ["3", "3.12.1", "cp312", "2.7", ">=3.11"])
def test_a_python_is_named_by_its_minor_version(text: str) -> None:
    with pytest.raises(UsageError, match="minor version"):
        parse_python(text)


def test_links_within_a_cache_are_taken_as_files_and_blobs_left_out(tmp_path: Path) -> None:
    root = tmp_path / "datasets--ada--words"
    (root / "blobs").mkdir(parents=True)
    (root / "blobs" / "abc").write_text("rows", encoding="utf-8")
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("c0ffee", encoding="utf-8")
    snapshot = root / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    (snapshot / "train.jsonl").symlink_to(root / "blobs" / "abc")
    ((data, files),) = read_data([root])
    assert data.kind == HUB
    assert list(files) == ["refs/main", "snapshots/c0ffee/train.jsonl"]


def test_the_kind_of_data_follows_from_its_path(tmp_path: Path) -> None:
    for name in ("datasets/ada___words", "plain", "models--ada--small"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x", encoding="utf-8")
    paths = [tmp_path / "datasets/ada___words", tmp_path / "plain", tmp_path / "plain/file"]
    kinds = {data.name: data.kind for data, _ in read_data(paths)}
    assert kinds == {"ada___words": DATASETS, "plain": FILES, "file": FILES}


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows").symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafeContent, match="leads out"):
        read_data([tmp_path / "data"])
    with pytest.raises(NotFound):
        read_data([tmp_path / "missing"])
