"""Does a bundle fit this machine? Asked before anything of it is unpacked."""

from collections.abc import Iterable
from dataclasses import replace

from prime_cli.core.errors import ResolveFailed
from prime_cli.envs.bundles.manifest import Manifest, Target
from prime_cli.envs.bundles.targets import this_platform
from prime_cli.envs.workspace import Workspace, python_version
from prime_cli.runtime.pythons import choose_python, find_pythons


def fitting_workspace(manifest: Manifest, workspace: Workspace) -> Workspace:
    """The workspace, if the bundle can be installed there; one that is to be made gets its Python.

    Raises ResolveFailed when the bundle is for other platforms or Pythons.
    """
    pythons = _pythons_here(manifest)
    if workspace.exists:
        minor = _minor(python_version(workspace))
    elif workspace.wanted is not None:
        minor = choose_python(None, workspace.wanted).minor
    else:
        return replace(workspace, wanted=_first_at_hand(manifest, pythons))
    if minor not in pythons:
        raise ResolveFailed(
            f"The bundle is for {_shown(manifest.targets)}, and "
            f"{workspace.folder or workspace.python} has Python {minor}",
            hint=f"name another Python with `--python`, or bundle with `--python {minor}`",
        )
    return workspace


def _pythons_here(manifest: Manifest) -> tuple[str, ...]:
    here = this_platform()
    found = tuple(target.python for target in manifest.targets if target.platform == here)
    if not found:
        raise ResolveFailed(
            f"The bundle is for {_shown(manifest.targets)}, and this machine is {here}",
            hint=f"make one with `prime env bundle … --platform {here}`",
        )
    return found


def _first_at_hand(manifest: Manifest, pythons: tuple[str, ...]) -> str:
    for python in find_pythons():
        if python.minor in pythons:
            return python.minor
    raise ResolveFailed(
        f"The bundle is for {_shown(manifest.targets)}, and no such Python is at hand",
        hint=f"install Python {pythons[0]}, or name where it is with `--python`",
    )


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _shown(targets: Iterable[Target]) -> str:
    pythons: dict[str, list[str]] = {}
    for target in targets:
        pythons.setdefault(target.platform, []).append(target.python)
    return ", ".join(f"{name} with Python {' or '.join(each)}" for name, each in pythons.items())
