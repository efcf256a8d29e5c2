"""`prime identities` on a hub with accounts, and what its admin does with `prime hub user`."""

import pytest

from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.hub.identity.sign_in import Identity
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.identities import connect_user_of, list_identities
from prime_cli.hub.services.key_management import issue_key
from prime_cli.hub.services.usage import list_usage
from tests.commands.accounts.test_keys import Desk, desk
from tests.helpers.cli import Prime
from tests.helpers.identities import ISSUER, link_identity
from tests.hub.accounts_hub import OPERATOR, actions

__all__ = ["desk"]

OTHER = "https://other.example.org"


def linked(desk: Desk) -> list[tuple[str, str]]:
    found = list_identities(desk.hub.hub, OPERATOR).identities
    return [(each.user, each.issuer) for each in found]


def test_a_user_lists_and_unlinks_an_identity(desk: Desk) -> None:
    ada = desk.add("ada", scope="admin")
    one, _ = (link_identity(desk.hub.hub, "ada", issuer=issuer) for issuer in (ISSUER, OTHER))
    listed = desk(ada, "identities list").ok().json["identities"]
    assert [each["issuer"] for each in listed] == [ISSUER, OTHER]
    assert (listed[0]["id"], listed[0]["email"]) == (one, "ada@example.org")
    ambiguous = desk(ada, "identities unlink ada@example.org --yes")
    assert (ambiguous.code, one in ambiguous.err) == (2, True)
    unlinked = desk(ada, f"identities unlink {ISSUER} --yes").ok()
    assert unlinked.json == {"id": one, "unlinked": True}
    assert linked(desk) == [("ada", OTHER)]
    log = actions(list_entries(desk.hub.hub, action="identity."))
    assert log[-1] == ("ada", "identity.disconnect", "ada")
    assert desk(ada, "identities unlink nothing --yes").code == 6


def test_who_unlinks_the_last_one_is_warned_of_being_locked_out(desk: Desk) -> None:
    ada = desk.add("ada", scope="admin")
    for issuer in (ISSUER, OTHER):
        link_identity(desk.hub.hub, "ada", issuer=issuer)
    assert "only identity" not in desk(ada, f"identities unlink {ISSUER} --yes").ok().err
    assert "only identity" in desk(ada, f"identities unlink {OTHER} --yes").ok().err
    # What the warning says: a key that expires links none.
    key = issue_key(desk.hub.hub, OPERATOR, "ada", scope="admin", seconds=60).key
    with pytest.raises(NotAllowed, match="may not connect"):
        connect_user_of(desk.hub.hub, "192.0.2.7", Identity(ISSUER, "subject of ada"), key)


def test_identities_and_usage_of_an_unknown_user_are_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound, match="`nobody`"):
        list_identities(desk.hub.hub, OPERATOR, "nobody")
    with pytest.raises(NotFound, match="No user or team `nobody`"):
        list_usage(desk.hub.hub, owner="nobody")


def test_nobody_unlinks_anothers_and_a_key_that_may_only_write_none(desk: Desk) -> None:
    ada, bob = desk.add("ada", scope="admin"), desk.add("bob")
    one, other = (link_identity(desk.hub.hub, user) for user in ("ada", "bob"))
    client = desk.hub.client(ada)
    assert client.delete(f"/api/v1/user/identities/{other}").status_code == 404
    refused = desk(bob, f"identities unlink {other} --yes")
    assert (refused.code, "scope `admin`" in refused.err) == (4, True)
    assert [each["id"] for each in desk(bob, "identities list").ok().json["identities"]] == [other]
    assert len(linked(desk)) == 2
    assert [each["id"] for each in desk(ada, "identities list").ok().json["identities"]] == [one]


def test_a_key_of_a_team_does_not_see_its_users_identities(desk: Desk) -> None:
    desk.add("ada", scope="admin")
    desk.hub.team("lab", ada="ADMIN")
    refused = desk(desk.hub.key("ada", owner="lab"), "identities list")
    assert (refused.code, "limited to `lab`" in refused.err) == (4, True)


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("identities list", "logins"),
        ("identities unlink idn_1 --yes", "logins"),
        ("hub quota show", "quotas"),
    ],
)
def test_the_local_hub_has_no_identities_and_no_quotas(prime: Prime, line: str, lacks: str) -> None:
    result = prime(*line.split())
    assert (result.code, f"hub has no {lacks}" in result.err) == (2, True)
