"""What the pages of an account show beyond what the API answers."""

from typing import Any

from msgspec import Struct

from prime_cli.pages.templates import NavigationLink, Page, Problem
from prime_cli.wire.accounts import Account as User
from prime_cli.wire.accounts import IdentityItem, KeyItem, Member, Team
from prime_cli.wire.environments import EnvironmentPage
from prime_cli.wire.invitations import Invitation
from prime_cli.wire.pods import Pod
from prime_cli.wire.quotas import Quota
from prime_cli.wire.sandboxes import Sandbox
from prime_cli.wire.secrets import EnvironmentVariable, Secret

LONGEST_DAYS = 36_500


class Account(Struct, frozen=True):
    """What all pages of an account have: the token of their forms, and links to each other."""

    form_token: str
    sections: tuple[NavigationLink, ...]
    problem: Problem | None = None


class AccountRecord(Struct, frozen=True):
    """A page of an account, and what it `shows`."""

    account: Account
    shows: Any


class Home(Struct, frozen=True):
    """The user, how much each owner has, and by whom the user may be signed in.

    `rights` are those of the key that the session acts with.
    """

    user: User
    quotas: list[Quota]
    identities: list[IdentityItem]
    rights: str
    has_accounts: bool


def home_page(shows: Home) -> Page:
    """The first page of an account."""
    command = ("prime whoami",) + (("prime identities list",) if shows.identities else ())
    return Page("account/home.html", "Account", shows, command)


def my_environments_page(shows: EnvironmentPage) -> Page:
    """The environments of the user and the user's teams, private ones too."""
    return Page("account/environments.html", "My environments", shows, ("prime env list --mine",))


class Tokens(Struct, frozen=True):
    """The keys of the user, those that the session may `manage`; `made` is a new one, in clear."""

    keys: list[KeyItem]
    owners: list[str]
    manages: bool
    made: str | None = None


def tokens_page(shows: Tokens) -> Page:
    """API keys, which the commands call keys too."""
    command = ("prime keys list", "prime keys create --name ci --scope read --expires 30d")
    return Page("account/tokens.html", "API tokens", shows, command)


def teams_page(shows: list[Team]) -> Page:
    """The teams of the user."""
    return Page("account/teams.html", "Teams", shows, ("prime teams list",))


class TeamMembers(Struct, frozen=True):
    """A team's members, and if the session `manages` it, its invitations; `link` is a new one.

    `user` is who is signed in, and may leave.
    """

    user: str
    team: Team
    members: list[Member]
    more: int
    invitations: list[Invitation]
    manages: bool
    link: str | None = None


def team_page(shows: TeamMembers) -> Page:
    """One team."""
    slug = shows.team.slug
    command = (f"prime teams members {slug}", f"prime teams invite {slug}")
    return Page("account/team.html", shows.team.name or slug, shows, command)


class Secrets(Struct, frozen=True):
    """The secrets of the user, or of a team, without values; `owners` are all that have some."""

    owner: str
    team: Team | None
    teams: list[Team]
    secrets: list[Secret]
    more: int
    writes: bool


def secrets_page(shows: Secrets) -> Page:
    """Secrets of an owner."""
    option = f" --team {shows.team.slug}" if shows.team else ""
    command = (f"prime secret list{option}", f"prime secret set NAME{option}")
    return Page("account/secrets.html", "Secrets", shows, command)


class EnvironmentSecrets(Struct, frozen=True):
    """The secrets and variables of an environment, without values."""

    slug: str
    secrets: list[Secret]
    variables: list[EnvironmentVariable]


def environment_secrets_page(shows: EnvironmentSecrets) -> Page:
    """Secrets and variables of an environment."""
    command = (f"prime env secret list {shows.slug}", f"prime env var list {shows.slug}")
    title = f"Secrets of {shows.slug}"
    return Page("account/environment_secrets.html", title, shows, command)


class Cost(Struct, frozen=True):
    """A machine that is rented, and what it has cost so far in USD; None where nobody knows."""

    pod: Pod
    cost: float | None


def pods_page(shows: list[Cost]) -> Page:
    """The pods of the user."""
    return Page("account/pods.html", "Pods", shows, ("prime pods list",))


def sandboxes_page(shows: list[Sandbox]) -> Page:
    """The sandboxes of the user."""
    return Page("account/sandboxes.html", "Sandboxes", shows, ("prime sandbox list",))
