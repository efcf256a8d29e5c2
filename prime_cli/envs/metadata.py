"""What a hub is told of a wheel and of a source archive; shapes of the official client."""

import msgspec

from prime_cli.archive.wheels import WheelFacts
from prime_cli.envs.project import Project
from prime_cli.wire.environments import EnvironmentMetadata

_ANY_PYTHON = ">=3.8"
"""What the official client says of a project without `requires-python`."""

_HINTS = {"v0": "VERIFIERS_V0", "v1": "VERIFIERS_V1"}


def describe(facts: WheelFacts, project: Project | None) -> EnvironmentMetadata:
    """The metadata of a wheel; what only pyproject.toml knows is empty without a `project`."""
    return EnvironmentMetadata(
        description=(project.description if project else "") or facts.summary,
        tags=list(project.tags) if project else [],
        license=(project.license if project else "") or facts.license,
        dependencies=list(project.dependencies if project else facts.requires_dist),
        python_requires=facts.requires_python or _ANY_PYTHON,
        original_filename=facts.filename,
        requires_dist=list(facts.requires_dist),
    )


def describe_sources(metadata: EnvironmentMetadata, name: str, version: str) -> EnvironmentMetadata:
    """The same for the source archive of `name` at `version`."""
    return msgspec.structs.replace(metadata, original_filename=f"{name}-{version}.tar.gz")


def runtime_hint(generation: str | None) -> str | None:
    """A generation of verifiers (v0 or v1) as the official wire spells it."""
    return _HINTS.get(generation or "")
