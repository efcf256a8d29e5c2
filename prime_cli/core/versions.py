"""The next version after a given one, by PEP 440.

Candidates and post-releases are counted from 0, as the official client does.
"""

from packaging.version import InvalidVersion, Version

from prime_cli.core.errors import UsageError


def bump_patch(version: str) -> str:
    """The next patch release: `0.1.9` gives `0.1.10`, and so does any pre- or post-release of it.

    A pre-release gives the release that it leads to: `0.2.0rc1` gives `0.2.0`.
    """
    parsed = _parse(version)
    if parsed.is_prerelease and not parsed.is_postrelease:
        return _release(parsed, _padded(parsed))
    major, minor, patch, *rest = _padded(parsed)
    return _release(parsed, (major, minor, patch + 1, *(0 for _ in rest)))


def next_rc(version: str) -> str:
    """The next release candidate: `0.2.0` gives `0.2.0rc0`, `0.2.0rc0` gives `0.2.0rc1`.

    After a post-release it is a candidate of the next patch, since one of the same release would
    sort below what is out.
    """
    parsed = _parse(version)
    if parsed.is_postrelease:
        return f"{bump_patch(version)}rc0"
    kind, number = parsed.pre or ("", 0)
    return f"{_release(parsed, parsed.release)}rc{number + 1 if kind == 'rc' else 0}"


def next_post(version: str) -> str:
    """The next post-release: `0.1.9` gives `0.1.9.post0`, `0.1.9.post0` gives `0.1.9.post1`."""
    parsed = _parse(version)
    pre = "{}{}".format(*parsed.pre) if parsed.pre else ""
    post = 0 if parsed.post is None else parsed.post + (0 if parsed.is_devrelease else 1)
    return f"{_release(parsed, parsed.release)}{pre}.post{post}"


def _parse(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion as error:
        raise UsageError(
            f"`{version}` is not a version", hint="write it as PEP 440 does, such as `0.1.0`"
        ) from error


def _padded(parsed: Version) -> tuple[int, ...]:
    return parsed.release + (0,) * (3 - len(parsed.release))


def _release(parsed: Version, numbers: tuple[int, ...]) -> str:
    epoch = f"{parsed.epoch}!" if parsed.epoch else ""
    return epoch + ".".join(str(number) for number in numbers)
