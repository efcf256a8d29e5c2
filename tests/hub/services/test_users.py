import pytest

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.context import Caller
from prime_cli.hub.services.teams import create_team, list_teams, remove_member, remove_team
from prime_cli.hub.services.users import create_user, list_users, remove_user
from tests.hub.house import OPERATOR, House
from tests.hub.pushing import HUB, Push, data, names

WHOAMI = "/api/v1/user/whoami"


@pytest.mark.parametrize(
    "slug",
    [
        *["ab", "a" * 31, "Ada", "ada_l", "ada.l", "-ada", "ada-", "a/b", "", "ada\n", "čada"],
        *["api", "upload", "files", "dashboard", "healthz", "docs", "starter", "cli"],
        "c" + "0" * 24,
    ],
)
def test_slug_that_clients_or_addresses_would_misread_is_refused(house: House, slug: str) -> None:
    with pytest.raises(UsageError):
        create_user(house.hub, OPERATOR, slug)
    with pytest.raises(UsageError):
        create_team(house.hub, OPERATOR, slug)
    assert list_users(house.hub) == []


def test_every_first_part_of_an_address_is_reserved(house: House) -> None:
    paths = [getattr(route, "path", "") for route in house.app.routes]
    first = {path.split("/")[1] for path in paths} - {"{owner}", ""}
    for part in first:
        with pytest.raises(UsageError):
            create_user(house.hub, OPERATOR, part)


def test_user_is_there_with_name_and_address(house: House) -> None:
    create_user(house.hub, OPERATOR, "ada", name=" Ada L. ", email="ada@example.org", admin=True)
    (user,) = list_users(house.hub)
    assert (user.slug, user.name, user.email, user.admin) == (
        "ada",
        "Ada L.",
        "ada@example.org",
        True,
    )
    with pytest.raises(UsageError, match="not an e-mail address"):
        create_user(house.hub, OPERATOR, "bob", email="bob")
    with pytest.raises(UsageError, match="control"):
        create_user(house.hub, OPERATOR, "bob", name="Bob\x1b[31m")


def test_slug_belongs_to_one_user_or_team(house: House) -> None:
    house.user("ada")
    for make in (create_user, create_team):
        with pytest.raises(Conflict, match="already taken"):
            make(house.hub, OPERATOR, "ada")


def test_only_an_admin_makes_and_removes_users_and_teams(house: House) -> None:
    house.user("ada")
    caller = house.caller(house.key("ada", scope="admin"))
    for refused in (
        lambda: create_user(house.hub, caller, "bob"),
        lambda: create_team(house.hub, caller, "lab"),
        lambda: remove_user(house.hub, caller, "ada"),
        lambda: remove_user(house.hub, Caller(), "ada"),
    ):
        with pytest.raises(NotAllowed):
            refused()


def test_removed_user_is_out_at_once(house: House) -> None:
    ada = house.user("ada")
    assert ada.get(WHOAMI).status_code == 200
    remove_user(house.hub, OPERATOR, "ada")
    assert ada.get(WHOAMI).status_code == 401
    with pytest.raises(NotFound):
        remove_user(house.hub, OPERATOR, "ada")


def test_user_who_owns_something_published_is_not_removed(house: House) -> None:
    push = Push(house.user("ada")).run()
    with pytest.raises(Conflict, match="`ada` owns 1 environment, as `word`") as caught:
        remove_user(house.hub, OPERATOR, "ada")
    assert "prime hub token remove --user ada" in str(caught.value.hint)
    assert names(push.client) == ["word"]
    push.client.delete(f"{HUB}/ada/word").raise_for_status()
    remove_user(house.hub, OPERATOR, "ada")


def test_name_of_a_removed_user_is_given_away_by_admins_alone(house: House) -> None:
    eve = house.user("eve")
    house.user("ada")
    remove_user(house.hub, OPERATOR, "ada")
    answer = eve.patch("/api/v1/user/slug", json={"slug": "ada"})
    assert answer.status_code == 409
    assert "already taken" in answer.json()["detail"]
    assert data(house.user("ada").get(WHOAMI))["slug"] == "ada"


def test_team_lists_its_members_and_what_it_owns_keeps_it(house: House) -> None:
    ada = house.user("ada")
    house.user("bob")
    house.team("lab", ada="ADMIN", bob="MEMBER")
    assert [(team.slug, team.members) for team in list_teams(house.hub)] == [
        ("lab", ["ada:admin", "bob"])
    ]
    ada.post(f"{HUB}/resolve", json={"name": "word", "team_slug": "lab"}).raise_for_status()
    with pytest.raises(Conflict, match="`lab` owns 1 environment"):
        remove_team(house.hub, OPERATOR, "lab")
    ada.delete(f"{HUB}/lab/word").raise_for_status()
    remove_team(house.hub, OPERATOR, "lab")
    assert list_teams(house.hub) == []


def test_members_are_changed_by_admins_of_the_team(house: House) -> None:
    house.user("ada")
    house.user("bob")
    house.team("lab", ada="ADMIN", bob="MEMBER")
    bob = house.caller(house.key("bob", scope="admin"))
    with pytest.raises(NotAllowed):
        remove_member(house.hub, bob, "lab", "ada")
    ada = house.caller(house.key("ada", scope="write"))
    with pytest.raises(NotAllowed):
        remove_member(house.hub, ada, "lab", "bob")
    remove_member(house.hub, house.caller(house.key("ada", scope="admin")), "lab", "bob")
    with pytest.raises(NotFound, match="`bob` is not in the team `lab`"):
        remove_member(house.hub, OPERATOR, "lab", "bob")
    with pytest.raises(UsageError, match="is not a role"):
        house.team("den", ada="OWNER")
