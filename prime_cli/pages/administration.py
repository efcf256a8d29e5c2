"""Pages for admins of a hub."""

from msgspec import Struct

from prime_cli.pages.paging import Room, Window
from prime_cli.pages.templates import HubCommand, Page
from prime_cli.wire.accounts import AuditEntry, AuditQuery, TeamItem, UserCreated, UserItem
from prime_cli.wire.quotas import Quota


class User(Struct, frozen=True):
    """A user, and why it is suspended, if it is."""

    item: UserItem
    suspended: str | None


class TeamLine(Struct, frozen=True):
    """A team, the first of its members in a line, and how many more there are."""

    item: TeamItem
    members: str
    more: int

    @classmethod
    def of(cls, item: TeamItem, members: int) -> "TeamLine":
        """The line of a team with so many members, of whom `item` names some."""
        return cls(item, ", ".join(item.members), members - len(item.members))


NAMED = 50
"""Members of a team, in its line."""
USERS = Room(row_bytes=1_700, times=2, bytes=90_000)
TEAMS = Room(
    row_bytes=120,
    bytes=30_000,
    texts=lambda each: (each.item.slug, each.item.name, each.members),
)
OWNERS = Room(row_bytes=500, bytes=100_000)
ENTRIES = Room(row_bytes=150, bytes=100_000)


class Users(Struct, frozen=True):
    """Users and teams of the hub; `created` is one that was just added, perhaps with a key."""

    users: Window[User]
    teams: Window[TeamLine]
    created: UserCreated | None = None


def users_page(content: Users) -> Page:
    """Users and teams."""
    command = (
        HubCommand("prime hub user list --context {context}"),
        HubCommand("prime hub user add USER --key --context {context}"),
        HubCommand("prime hub takedown add USER --reason TEXT --context {context}"),
    )
    return Page("hub/users.html", "Users", content, command)


def storage_page(content: Window[Quota]) -> Page:
    """What owners have and may have: that of all first."""
    command = (
        HubCommand("prime hub quota list --context {context}"),
        HubCommand("prime hub quota set OWNER --storage 10GB --context {context}"),
    )
    return Page("hub/storage.html", "Storage and quotas", content, command)


class AuditLog(Struct, frozen=True):
    """Entries of the log, newest first, and the query of the page with older ones."""

    entries: Window[AuditEntry]
    query: AuditQuery
    older: str | None


def audit_page(content: AuditLog) -> Page:
    """The audit log."""
    command = (HubCommand("prime hub audit --context {context}"),)
    return Page("hub/audit.html", "Audit log", content, command)


class RouteLoad(Struct, frozen=True):
    """Answers of one route since the hub was started, and the mean time of one in ms."""

    route: str
    answers: int
    errors: int
    mean_ms: float


class Load(Struct, frozen=True):
    """How busy the hub is: by route, the busiest first, and other numbers by name."""

    routes: list[RouteLoad]
    numbers: list[tuple[str, float]]


def load_page(content: Load) -> Page:
    """What the hub counts about itself."""
    command = (HubCommand('curl -H "Authorization: Bearer $PRIME_API_KEY" {url}/metrics'),)
    return Page("hub/load.html", "Load", content, command)
