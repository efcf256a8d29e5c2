"""A served hub governed from another machine, by its admin and by a team's."""

import io
from pathlib import Path

import pytest

from prime_cli.core.digests import digest_bytes
from prime_cli.hub.services.usage import add_usage
from prime_cli.hub.services.users import create_user
from prime_cli.models.prices import PICO, Spend, TokenUsage
from prime_cli.session import Session
from tests.helpers.cli import Prime, Result
from tests.helpers.identities import link_identity
from tests.hub.accounts_hub import OPERATOR, URL, AccountsHub
from tests.hub.evaluating import made
from tests.hub.pushing import Push


class Machines:
    """Commands on machines of several people; the hub is elsewhere."""

    def __init__(self, prime: Prime, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hub = AccountsHub(folder / "served")
        self._prime, self._monkeypatch = prime, monkeypatch
        prime.make_session = lambda: Session(self.hub.transport())

    def __call__(self, key: str, line: str) -> Result:
        """Type a command with somebody's key, which a login has kept in a context."""
        name = f"of-{digest_bytes(key.encode())[:12]}"
        self._monkeypatch.setattr("sys.stdin", io.StringIO(key))
        login = ("login", "--hub", URL, "--name", name, "--token-stdin", "--allow-http")
        entered = self._prime(*login, "--storage", "file")
        if entered.code:
            return entered
        return self._prime(*line.split(), "--context", name, "--output", "json")

    def admin(self) -> str:
        """The key of an admin of the hub."""
        create_user(self.hub.hub, OPERATOR, "root-user", admin=True)
        return self.hub.key("root-user", scope="admin")


@pytest.fixture
def machines(prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(prime, tmp_path, monkeypatch)


def test_an_admin_makes_users_and_teams_and_takes_them_away(machines: Machines) -> None:
    admin = machines.admin()
    made = machines(admin, "hub user add bob --email bob@example.org --key").ok().json
    assert machines(made["key"], "whoami").ok().json["slug"] == "bob"
    machines(made["key"], "keys create --name ci --scope read").ok()
    machines(admin, "hub team add lab --member bob").ok()
    (team,) = machines(admin, "hub team list").ok().json
    assert (team["slug"], team["members"]) == ("lab", ["bob"])
    assert {each["slug"] for each in machines(admin, "hub user list").ok().json} == {
        "bob",
        "root-user",
    }
    keys = machines(admin, "hub token list --user bob").ok().json
    (first,) = [key["id"] for key in keys if key["name"] == "first key"]
    assert machines(admin, f"hub token remove {first}").ok().json["revoked"] == 2
    assert machines(made["key"], "whoami").code == 4
    machines(admin, "hub team remove lab --yes").ok()
    machines(admin, "hub user remove bob --yes").ok()
    log = machines(admin, "hub audit --action user.").ok().json
    assert [(each["actor"], each["action"]) for each in log[:2]] == [
        ("root-user", "user.remove"),
        ("root-user", "user.create"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "hub user list",
        "hub user add eve",
        "hub user remove bob --yes",
        "hub team list",
        "hub team add lab",
        "hub team remove lab --yes",
        "hub token list",
        "hub token remove --user bob",
        "hub audit",
        "hub quota list",
        "hub quota set --pods 2",
        "hub takedown list",
        "hub usage",
        "hub user identities",
        "hub takedown add bob --reason spam",
        "hub takedown remove bob",
    ],
)
def test_others_govern_nothing(machines: Machines, line: str) -> None:
    machines.hub.user("bob")
    machines.hub.team("lab", bob="ADMIN")
    machines.hub.user("root-user")
    for rights in ({"scope": "admin"}, {"scope": "write"}):
        refused = machines(machines.hub.key("bob", **rights), line)
        assert (refused.code, "Only an admin of this hub" in refused.err) == (4, True)


def test_an_admins_key_of_another_scope_governs_nothing(machines: Machines) -> None:
    machines.admin()
    refused = machines(machines.hub.key("root-user"), "hub user list")
    assert (refused.code, "scope `admin`" in refused.err) == (4, True)


def test_a_teams_admin_adds_and_removes_members(machines: Machines) -> None:
    for user in ("ada", "bob", "eve"):
        machines.hub.user(user)
    machines.hub.team("lab", ada="ADMIN")
    ada = machines.hub.key("ada", scope="admin")
    bob, eve = machines.hub.key("bob"), machines.hub.key("eve", scope="admin")
    added = machines(ada, "teams add lab bob").ok()
    assert "What is private to `lab` is now visible to `bob`" in added.err
    members = machines(bob, "teams members lab").ok().json["members"]
    assert {each["userName"]: each["role"] for each in members} == {"ada": "ADMIN", "bob": "MEMBER"}
    refused = machines(bob, "teams add lab eve")
    assert (refused.code, "Only an admin of the team `lab`" in refused.err) == (4, True)
    assert machines(eve, "teams add lab eve").code == 6
    machines(bob, "teams remove lab bob --yes").ok()
    assert machines(bob, "teams members lab").code == 6
    machines(ada, "teams add lab bob:admin").ok()
    machines(ada, "teams remove lab bob --yes").ok()
    assert machines(ada, "teams add lab bob:king").code == 2


def test_the_hub_in_the_box_is_not_governed(prime: Prime) -> None:
    result = prime("hub", "user", "list", "--context", "local")
    assert (result.code, "has a single user" in result.err) == (2, True)


def test_members_added_before_a_failure_are_named(machines: Machines) -> None:
    for user in ("ada", "bob"):
        machines.hub.user(user)
    machines.hub.team("lab", ada="ADMIN")
    ada = machines.hub.key("ada", scope="admin")
    for line, done in (("add lab bob ghost", "Added"), ("remove lab bob ghost --yes", "Removed")):
        stopped = machines(ada, f"teams {line}")
        assert stopped.code == 6
        assert f"{done} bob " in stopped.err
        assert "then stopped" in stopped.err


@pytest.mark.parametrize("line", ["add lab bob", "remove lab bob --yes"])
def test_teams_are_changed_on_hubs_with_accounts_alone(prime: Prime, line: str) -> None:
    result = prime("teams", *line.split(), "--context", "local")
    assert (result.code, "has a single user" in result.err) == (2, True)


def test_one_revoked_key_is_one_key(machines: Machines) -> None:
    machines.hub.user("bob")
    assert "Revoked 1 key of `bob`" in machines(machines.admin(), "hub token remove --user bob").err


def test_an_admin_takes_down_and_restores_from_afar(machines: Machines) -> None:
    admin, bob = machines.admin(), machines.hub.user("bob")
    Push(bob, visibility="PRIVATE").run()
    for target, kind in (("bob/word@0.1.0", "version"), ("bob/word", "environment")):
        line = f"hub takedown add {target} --reason Malware"
        assert machines(admin, line).ok().json == {
            "kind": kind,
            "target": target,
            "reason": "Malware",
        }
    machines(admin, "hub takedown add bob --reason Spam").ok()
    listed = machines(admin, "hub takedown list").ok().json
    assert [each["target"] for each in listed] == ["bob/word", "bob/word@0.1.0", "bob"]
    done = [machines(admin, f"hub takedown remove {each['target']}").ok() for each in listed]
    assert [each.json["is_public"] for each in done] == [False] * 3
    assert "public" not in "".join(each.err for each in done)
    assert machines(admin, "hub takedown list").ok().json == []


def test_what_is_public_once_restored_is_said_with_its_address(machines: Machines) -> None:
    admin, bob = machines.admin(), machines.hub.user("bob")
    Push(bob, visibility="PUBLIC").run()
    evaluation = made(bob, environments=[{"id": "bob/word"}], is_public=True)
    for target, page in (
        ("bob/word", "environments/bob/word"),
        ("bob/word@0.1.0", "environments/bob/word/@0.1.0"),
        (evaluation, f"evaluations/{evaluation}"),
    ):
        machines(admin, f"hub takedown add {target} --reason Malware").ok()
        done = machines(admin, f"hub takedown remove {target}").ok()
        assert done.json == {"target": target, "restored": True, "is_public": True}
        address = f"{URL}/dashboard/{page}"
        assert f"{target} is now public: {address}\n" in done.err


def test_an_admin_sets_quotas_from_afar(machines: Machines) -> None:
    admin = machines.admin()
    machines.hub.user("bob")
    everybody = machines(admin, "hub quota set --storage 1GB --pods 2").ok().json
    assert everybody["limits"] == {"storage": 10**9, "pods": 2, "tokens": None, "sandboxes": None}
    machines(admin, "hub quota set bob --storage unlimited --pods 5").ok()
    bob, *_ = (each for each in machines(admin, "hub quota list").ok().json if each["owner"])
    assert (bob["owner"], bob["limits"]["storage"], bob["own"]) == (
        "bob",
        None,
        ["storage", "pods"],
    )
    own = machines(machines.hub.key("bob"), "hub quota show").ok()
    assert [each["owner"] for each in own.json] == ["bob"]
    said = machines(admin, "hub quota set bob --pods default").ok()
    assert "Quota of `bob`: pods 2" in said.err
    for wrong in ("--pods 2GB", "--storage much", "--pods -3", ""):
        assert machines(admin, f"hub quota set {wrong}").code == 2


def test_an_admin_lists_and_unlinks_identities_from_afar(machines: Machines) -> None:
    admin = machines.admin()
    machines.hub.user("bob")
    one = link_identity(machines.hub.hub, "bob")
    (listed,) = machines(admin, "hub user identities bob").ok().json
    assert (listed["id"], listed["user"], listed["email"]) == (one, "bob", "bob@example.org")
    assert machines(admin, "hub user identities root-user").ok().json == []
    machines(admin, f"hub user unlink {one} --yes").ok()
    assert machines(admin, "hub user identities").ok().json == []
    assert machines(admin, f"hub user unlink {one} --yes").code == 6


def test_an_admin_reads_the_use_of_models_from_afar(machines: Machines) -> None:
    admin = machines.admin()
    machines.hub.user("bob")
    spend = Spend(TokenUsage(calls=2, input=10, output=5), picodollars=PICO, unpriced=0)
    add_usage(machines.hub.hub, "bob", "small", spend)
    (used,) = machines(admin, "hub usage").ok().json
    assert (used["owner"], used["model"], used["calls"], used["cost_usd"]) == ("bob", "small", 2, 1)
    assert machines(admin, "hub usage --owner root-user").ok().json == []
    assert machines(admin, "hub usage --month 2020-01").ok().json == []
    refused = machines(admin, "hub usage --month May")
    assert (refused.code, "`May` is not a month" in refused.err) == (2, True)


def test_the_owner_and_others_are_told_why_something_is_taken_down(machines: Machines) -> None:
    for user in ("bob", "eve"):
        machines.hub.user(user)
    bob, eve = machines.hub.key("bob"), machines.hub.key("eve")
    client = machines.hub.client(bob)
    Push(client).run()
    Push(client, version="0.2.0", code="x = 1").run()
    admin = machines.admin()
    for target in ("bob/word@0.2.0", "bob/word"):
        machines(admin, f"hub takedown add {target} --reason Malware").ok()
        for key in (bob, eve):
            for command in ("env info", "env pull", "env install"):
                refused = machines(key, f"{command} {target}")
                assert (refused.code, "an admin of this hub: Malware" in refused.err) == (4, True)
