"""Is what a hub answers about what it was asked for?

Owner, name and version of an answer become folders on this disk, the owner who is trusted, and what
a signature must say. A hub that could answer with another one's would choose all three.
"""

from packaging.version import InvalidVersion, Version

from prime_cli.core.errors import BadReference, IntegrityError
from prime_cli.core.refs import LATEST, EnvRef, normalize_name
from prime_cli.wire.environments import EnvironmentDetail


def check_identity(host: str, asked: EnvRef, detail: EnvironmentDetail) -> None:
    """Raise IntegrityError unless `detail` is of the environment and version `asked` for.

    Names are the same as PEP 503 compares them, owners but for case, versions as PEP 440 does. A
    version that is none of PEP 440 may be the beginning of the content hash.
    """
    told = f"{detail.owner.name}/{detail.name}@{detail.semantic_version or LATEST}"
    try:
        found = EnvRef.parse(told)
    except BadReference:
        same = False
    else:
        same = _names(found) == _names(asked) and _is_version(asked.version, detail)
    if not same:
        raise IntegrityError(
            f"{host} was asked for {asked}, and answers about {told[:200]}",
            hint="tell those who run the hub; nothing of the answer was used",
        )


def _names(ref: EnvRef) -> tuple[str, str]:
    return ref.owner.lower(), normalize_name(ref.name)


def _is_version(asked: str | None, detail: EnvironmentDetail) -> bool:
    told = detail.semantic_version
    if asked is None or told is None or asked == told:
        return True
    try:
        wanted = Version(asked)
    except InvalidVersion:
        return (detail.content_hash or "").startswith(asked)
    try:
        return wanted == Version(told)
    except InvalidVersion:
        return False
