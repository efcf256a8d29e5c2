"""What hubs said of the environments that were fetched, kept so that they work offline."""

from pathlib import Path
from urllib.parse import quote

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import LATEST, EnvRef, normalize_name
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.locks import Lock, Signature


class Record(msgspec.Struct):
    """A fetched version: its detail with the wheel's digest, ISO time of publication, lock.

    `pyproject` is the text of the pyproject.toml among its sources; `signatures` are those that
    the hub kept when it was fetched.
    """

    detail: EnvironmentDetail
    published: str | None = None
    lock: Lock | None = None
    pyproject: str | None = None
    signatures: tuple[Signature, ...] = ()


def save(home: Path, host: str, record: Record, *, newest: bool) -> None:
    """Keep `record` for its exact version, and for `latest` when it was asked for as `newest`."""
    detail = record.detail
    ref = EnvRef(detail.owner.name, detail.name, detail.semantic_version)
    content = encode(record)
    write_atomically(_file(home, host, ref), content)
    if newest:
        write_atomically(_file(home, host, ref.at(None)), content)


def load(home: Path, host: str, ref: EnvRef) -> Record | None:
    """The record kept for `ref`, None when it was never fetched or cannot be read any more."""
    file = _file(home, host, ref)
    with storage_errors(file):
        if not file.is_file():
            return None
        content = file.read_bytes()
    try:
        return decode(content, Record)
    except UsageError:  # written by a version with another shape: as good as absent
        return None


def _file(home: Path, host: str, ref: EnvRef) -> Path:
    name = normalize_name(ref.name)
    folder = home / "cache" / "environments" / quote(host, safe="") / ref.owner / name
    return folder / f"{quote(ref.version or LATEST, safe='')}.json"
