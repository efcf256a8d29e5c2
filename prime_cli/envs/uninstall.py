"""Take environments out of the workspace again."""

from collections.abc import Sequence

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef, is_reference, normalize_name
from prime_cli.envs.installed import Distribution, read_distributions
from prime_cli.envs.installers import Tool, uninstall
from prime_cli.envs.workspace import Workspace, site_packages


def plan_uninstall(words: Sequence[str], workspace: Workspace) -> tuple[Distribution, ...]:
    """The installed packages that names or refs (`owner/name`) mean; raises NotFound."""
    installed = read_distributions(site_packages(workspace))
    return tuple(_find(word, installed, workspace) for word in words)


def run_uninstall(
    packages: Sequence[Distribution], workspace: Workspace, tool: Tool = Tool.UV
) -> None:
    """Remove the packages; what they required stays. Raises ResolveFailed."""
    uninstall(workspace, [package.name for package in packages], tool)


def _find(word: str, installed: dict[str, Distribution], workspace: Workspace) -> Distribution:
    name = EnvRef.parse(word).name if is_reference(word) else word.partition("@")[0]
    found = installed.get(normalize_name(name))
    if found is None and is_reference(word):
        slug = EnvRef.parse(word).slug
        found = next((p for p in installed.values() if _came_from(p, slug)), None)
    if found is None:
        raise NotFound(
            f"`{word}` is not installed in {workspace.folder or workspace.python}",
            hint="see what is with `prime env list --installed`",
        )
    return found


def _came_from(package: Distribution, slug: str) -> bool:
    origin = package.origin
    return origin is not None and origin.ref is not None and EnvRef.parse(origin.ref).slug == slug
