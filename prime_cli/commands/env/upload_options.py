"""Options of `prime env upload`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option
from prime_cli.envs.publish.release import VersionBump
from prime_cli.envs.signatures.versions import Signer, attestation_signer, signer_of


class VisibilityChoice(StrEnum):
    """Who sees an environment."""

    PUBLIC = "PUBLIC"
    PRIVATE = "PRIVATE"


@dataclass(frozen=True)
class DestinationOptions:
    """Where the environment goes: `envs.publish.plan.Destination`."""

    name: Annotated[
        str | None,
        Option("Its name on the hub.", ("--name", "-n"), show_default="the project's"),
    ] = None
    visibility: Annotated[
        VisibilityChoice | None,
        Option(
            "Who sees it.",
            ("--visibility", "-v"),
            case_sensitive=False,
            show_default="unchanged; the hub's default for a new one",
        ),
    ] = None
    owner: Annotated[str | None, Option("Publish for this user or team.", ("--owner", "-o"))] = None
    team: Annotated[
        str | None,
        Option(
            "Publish for this team (slug or id).",
            ("--team", "-t"),
            show_default="that of `prime switch`",
        ),
    ] = None


@dataclass(frozen=True)
class BumpOptions:
    """Which version comes next: at most one of them."""

    auto_bump: Annotated[bool, Option("First raise the patch version in pyproject.toml.")] = False
    rc: Annotated[bool, Option("First raise the version to the next release candidate.")] = False
    post: Annotated[bool, Option("First raise the version to the next post-release.")] = False

    def bump(self) -> VersionBump | None:
        """The one that is given; raises UsageError for several."""
        flags = {
            VersionBump.PATCH: self.auto_bump,
            VersionBump.RC: self.rc,
            VersionBump.POST: self.post,
        }
        chosen = [bump for bump, given in flags.items() if given]
        if len(chosen) > 1:
            raise UsageError("Use only one of `--auto-bump`, `--rc` and `--post`")
        return chosen[0] if chosen else None


@dataclass(frozen=True)
class UploadCheckOptions:
    """How the wheel is tried before it is published."""

    no_check: Annotated[bool, Option("Do not import the wheel in a clean interpreter.")] = False
    check: Annotated[bool, Option("Check it first, and publish the report with it.")] = False
    require_check: Annotated[bool, Option("As `--check`, but publish only if no check fails.")] = (
        False
    )
    require_attack_check: Annotated[
        bool, Option("As `--check --attack`, but publish only rewards that hold.")
    ] = False

    def validate(self) -> None:
        """Raise UsageError for what excludes each other."""
        if self.no_check and self.wants_report:
            raise UsageError(
                "`--no-check` excludes `--check`, `--require-check` and `--require-attack-check`"
            )

    @property
    def wants_report(self) -> bool:
        """Whether `prime env check` runs first."""
        return self.check or self.require_check or self.require_attack_check


@dataclass(frozen=True)
class SigningOptions:
    """The signatures that are published with a version."""

    sign: Annotated[
        str | None, Option("Sign with this SSH key, or with `sigstore`.", metavar="KEY")
    ] = None
    attestation: Annotated[
        tuple[Path, ...], Option("Also publish this attestation (PEP 740).", metavar="FILE")
    ] = ()

    def signers(self) -> tuple[Signer, ...]:
        """What makes or brings each of them."""
        key = [signer_of(self.sign)] if self.sign else []
        return (*key, *map(attestation_signer, self.attestation))


def read_claim(date: datetime | None, *, imports: bool) -> datetime | None:
    """The moment of `--published-as-of`; raises UsageError for one that cannot hold."""
    claim = date and date.replace(tzinfo=UTC)
    if claim is not None and not (imports and claim <= datetime.now(UTC)):
        reason = "is in the future" if imports else "needs the import that `--no-check` omits"
        raise UsageError(f"`--published-as-of {claim:%Y-%m-%d}` {reason}")
    return claim
