"""Data that goes along in a bundle: plain files, or a folder of the Hugging Face Hub's cache."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import Conflict, NotFound, UnsafeContent, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.envs.bundles.manifest import DATASETS, FILES, HUB, BundledData, BundleMember

_REPOSITORY = re.compile(r"(datasets|models|spaces)--[A-Za-z0-9._-]+")
"""A folder of the Hub's cache: huggingface.co/docs/huggingface_hub/guides/manage-cache."""
_PREPARED = re.compile(r"[A-Za-z0-9._-]+___[A-Za-z0-9._-]+")
"""A folder of the `datasets` library's cache, `<owner>___<name>`."""
_LEFT_OUT = frozenset({"blobs", ".locks", ".no_exist"})
"""`blobs` holds what the links in `snapshots` point to, and these are taken as files."""


def read_data(paths: Sequence[Path]) -> list[tuple[BundledData, dict[str, Path]]]:
    """What `--data` names, each with its files by their POSIX path within, sorted.

    Links are followed inside of their folder. Raises NotFound, UsageError for two of one name and
    UnsafeContent for a link that leads out.
    """
    found: dict[str, tuple[BundledData, dict[str, Path]]] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(f"There is no {path}", hint="pass a folder or file with `--data`")
        name = path.resolve().name
        if name in found:
            raise UsageError(f"Two of `--data` are called {name}", hint="rename one of them")
        kind = _kind(path.resolve())
        files = dict(sorted(_files(path, left_out=_LEFT_OUT if kind == HUB else frozenset())))
        if not files:
            raise UsageError(f"There are no files in {path}")
        found[name] = BundledData(name, kind), files
    return [found[name] for name in sorted(found)]


def target_folder(data: BundledData, kept: Path, environ: Mapping[str, str]) -> Path:
    """Where the files of `data` go on this machine: a cache of Hugging Face's, else below `kept`.

    Raises UnsafeContent for a name that its kind does not have.
    """
    if data.kind == FILES:
        return kept / data.name
    pattern = _REPOSITORY if data.kind == HUB else _PREPARED
    if data.kind not in (HUB, DATASETS) or not pattern.fullmatch(data.name):
        raise UnsafeContent(f"The bundle's data {data.name!r} is not of its declared kind")
    return _caches(environ)[data.kind] / data.name


def needs_writing(path: Path, member: BundleMember) -> bool:
    """Whether a file is to be written at `path`; raises Conflict for one with other content."""
    if not path.exists():
        return True
    if path.is_file() and path.stat().st_size == member.size:
        with storage_errors(path):
            if digest_file(path) == member.sha256:
                return False
    raise Conflict(
        f"{path} already exists with other content than the bundle's",
        hint="move it away, then install the bundle again",
    )


def _kind(path: Path) -> str:
    if not path.is_dir():
        return FILES
    if _REPOSITORY.fullmatch(path.name):
        return HUB
    prepared = _PREPARED.fullmatch(path.name)
    return DATASETS if prepared and path.parent.name == "datasets" else FILES


def _caches(environ: Mapping[str, str]) -> dict[str, Path]:
    """Both caches of Hugging Face's, by the variables that its libraries read."""
    above = Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    home = Path(environ.get("HF_HOME") or above)
    hub = environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE") or home / "hub"
    datasets = environ.get("HF_DATASETS_CACHE") or home / "datasets"
    return {HUB: Path(hub).expanduser(), DATASETS: Path(datasets).expanduser()}


def _files(root: Path, *, left_out: frozenset[str]) -> Iterator[tuple[str, Path]]:
    if root.is_file():
        yield root.name, root
        return
    inside = root.resolve()
    for folder, names, files in os.walk(root):
        if Path(folder) == root:
            names[:] = [name for name in names if name not in left_out]
        for name in (*names, *files):
            path = Path(folder) / name
            _check_link(path, inside)
            if path.is_file() and not name.endswith((".incomplete", ".lock")):
                yield path.relative_to(root).as_posix(), path


def _check_link(path: Path, root: Path) -> None:
    if not path.is_symlink():
        return
    if not path.resolve().is_relative_to(root):
        raise UnsafeContent(
            f"{path} is a link that leads out of {root}", hint="put the file itself there"
        )
    if path.is_dir():
        raise UnsafeContent(f"{path} is a link to a folder, which no bundle holds")
