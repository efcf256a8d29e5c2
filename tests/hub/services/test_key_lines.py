"""Keys that were made with other keys: what becomes of them when one is revoked."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.context import Caller
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.environments import delete_environment
from prime_cli.hub.services.key_management import issue_key, list_keys, revoke_all, revoke_key
from prime_cli.hub.services.keys import LONGEST_LINE, NewKey, find_caller
from prime_cli.hub.services.users import remove_user
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.faults.shared_hub import at_once
from tests.hub.pushing import HUB, Push, data, names

DAY = 24 * 3600


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> NewKey:
    """A key of Ada's, made on the machine of the hub, with which others can be made."""
    accounts_hub.user("ada")
    return issue_key(accounts_hub.hub, OPERATOR, "ada", name="root", scope="admin")


def child_of(
    accounts_hub: AccountsHub, parent: NewKey, name: str = "", scope: str = "admin"
) -> NewKey:
    return issue_key(
        accounts_hub.hub, accounts_hub.caller(parent.key), "ada", name=name, scope=scope
    )


def chain_of(accounts_hub: AccountsHub, first: NewKey, length: int) -> list[NewKey]:
    line = [first]
    while len(line) < length:
        line.append(child_of(accounts_hub, line[-1]))
    return line


def alive(accounts_hub: AccountsHub, *keys: NewKey) -> list[bool]:
    return [find_caller(accounts_hub.hub, made.key) is not None for made in keys]


def test_revoking_a_key_ends_its_line_and_nothing_beside_it(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    first, second, third = chain_of(accounts_hub, ada, 3)
    beside = child_of(accounts_hub, first)
    assert revoke_key(accounts_hub.hub, OPERATOR, second.id) == [second.id, third.id]
    assert alive(accounts_hub, first, second, third, beside) == [True, False, False, True]
    assert revoke_key(accounts_hub.hub, OPERATOR, first.id) == [first.id, beside.id]
    assert alive(accounts_hub, first, beside) == [False, False]


def test_list_names_the_parent(accounts_hub: AccountsHub, ada: NewKey) -> None:
    made = child_of(accounts_hub, ada, "ci")
    listed = {key.id: key.parent for key in list_keys(accounts_hub.hub, OPERATOR)}
    assert listed[made.id] == ada.id
    assert listed[ada.id] is None
    shown = data(accounts_hub.client(ada.key).get("/api/v1/user/keys"))["keys"]
    assert {key["id"]: key["parent"] for key in shown} == listed


def test_audit_names_the_line(accounts_hub: AccountsHub, ada: NewKey) -> None:
    _, second, third = chain_of(accounts_hub, ada, 3)
    revoke_key(accounts_hub.hub, OPERATOR, second.id)
    revoked, made, *_ = list_entries(accounts_hub.hub, action="key.")
    assert made.detail["line"] == [ada.id, second.id]
    assert revoked.detail["key"] == second.id
    assert revoked.detail["made_with_it"] == [third.id]


def test_audit_shows_what_was_done_with_a_line_also_when_it_is_revoked(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    _, second, third = chain_of(accounts_hub, ada, 3)
    other = child_of(accounts_hub, ada)
    for name, key in (("mine", ada), ("far", third), ("beside", other)):
        data(Push(accounts_hub.client(key.key), name).resolve())
    revoke_key(accounts_hub.hub, OPERATOR, ada.id)

    def made_with(key: NewKey) -> list[str]:
        found = list_entries(accounts_hub.hub, action="environment.", key=key.id)
        return [entry.target for entry in reversed(found)]

    assert made_with(ada) == ["ada/mine", "ada/far", "ada/beside"]
    assert made_with(second) == ["ada/far"]
    assert made_with(other) == ["ada/beside"]


def test_key_that_revokes_itself_takes_its_line_along(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    made = child_of(accounts_hub, ada, scope="read")
    answer = accounts_hub.client(ada.key).delete("/api/v1/user/keys/current")
    assert data(answer)["revoked"] == 2
    assert alive(accounts_hub, ada, made) == [False, False]


@pytest.mark.parametrize("end", [revoke_all, remove_user])
def test_all_keys_of_a_user_are_counted(
    accounts_hub: AccountsHub, ada: NewKey, end: Callable[..., object]
) -> None:
    chain_of(accounts_hub, ada, 3)
    end(accounts_hub.hub, OPERATOR, "ada")
    (entry,) = list_entries(accounts_hub.hub, limit=1)
    # With the one that every user of this accounts_hub has.
    assert entry.detail["keys_revoked"] == 4
    assert list_keys(accounts_hub.hub, OPERATOR) == []


def test_line_that_expires_ends_at_once(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    brief = issue_key(accounts_hub.hub, OPERATOR, "ada", scope="admin", seconds=DAY)
    made = issue_key(accounts_hub.hub, accounts_hub.caller(brief.key), "ada", seconds=DAY)
    accounts_hub.clock.wait(days=1)
    assert alive(accounts_hub, brief, made) == [False, False]


def test_line_has_an_end(accounts_hub: AccountsHub, ada: NewKey) -> None:
    *earlier, last = chain_of(accounts_hub, ada, LONGEST_LINE)
    with pytest.raises(NotAllowed, match="the last in a chain of 32"):
        child_of(accounts_hub, last)
    child_of(accounts_hub, earlier[-1])
    assert len(revoke_key(accounts_hub.hub, OPERATOR, ada.id)) == LONGEST_LINE + 1


def test_key_that_was_revoked_since_it_asked_makes_none(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    caller = accounts_hub.caller(ada.key)
    revoke_key(accounts_hub.hub, OPERATOR, ada.id)
    with pytest.raises(NotLoggedIn, match="was just revoked"):
        issue_key(accounts_hub.hub, caller, "ada")


def test_key_that_expired_since_it_asked_makes_none(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    caller = accounts_hub.caller(accounts_hub.key("ada", scope="admin", seconds=DAY))
    accounts_hub.clock.wait(days=1)
    with pytest.raises(NotLoggedIn, match="has expired"):
        issue_key(accounts_hub.hub, caller, "ada", seconds=1)


def test_request_that_was_let_in_writes_nothing_once_its_key_is_revoked(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    """What is noted in the audit log is undone: the key is looked at in the same transaction."""
    client = accounts_hub.client(ada.key)
    data(Push(client).resolve())
    caller = accounts_hub.caller(ada.key)
    revoke_key(accounts_hub.hub, OPERATOR, ada.id)
    with pytest.raises(NotLoggedIn):
        delete_environment(accounts_hub.hub, caller, "ada/word")
    other = accounts_hub.client(accounts_hub.key("ada"))
    assert other.get(f"{HUB}/ada/word/status").status_code == 200


def test_upload_address_ends_with_the_key_that_it_was_given_to(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    push = Push(accounts_hub.client(ada.key))
    push.environment_id = data(push.resolve())["id"]
    url = data(push.declare_wheel())["upload_url"]
    revoke_key(accounts_hub.hub, OPERATOR, ada.id)
    answer = accounts_hub.client().put(url, content=push.wheel)
    assert answer.status_code == 404
    assert "Unknown" in answer.json()["detail"]


def test_upload_under_way_is_refused_when_its_key_is_revoked(
    accounts_hub: AccountsHub, ada: NewKey
) -> None:
    push = Push(accounts_hub.client(ada.key))
    push.environment_id = data(push.resolve())["id"]
    url = data(push.declare_wheel())["upload_url"]

    def body() -> Iterator[bytes]:
        yield push.wheel[:10]
        revoke_key(accounts_hub.hub, OPERATOR, ada.id)
        yield push.wheel[10:]

    answer = accounts_hub.client().put(url, content=body())
    assert answer.status_code == 401, answer.text
    good = Push(accounts_hub.client(accounts_hub.key("ada")))
    good.environment_id = push.environment_id
    # Nothing has come of it: the same bytes are asked for again.
    assert data(good.declare_wheel())["upload_url"] is not None
    assert names(good.run().client) == ["word"]


def test_no_child_outlives_a_parent_that_is_revoked_meanwhile(accounts_hub: AccountsHub) -> None:
    """Whichever of the two comes first, in transactions that wait for each other."""
    accounts_hub.user("ada")
    for _ in range(20):
        root = issue_key(accounts_hub.hub, OPERATOR, "ada", scope="admin")
        made: list[NewKey] = []
        make = partial(_unless_revoked, accounts_hub, accounts_hub.caller(root.key), made)
        at_once([make, partial(_revoke, accounts_hub, root)])
        assert not any(alive(accounts_hub, root, *made))


def _unless_revoked(accounts_hub: AccountsHub, caller: Caller, made: list[NewKey]) -> None:
    with contextlib.suppress(NotLoggedIn):
        made.append(issue_key(accounts_hub.hub, caller, "ada"))


def _revoke(accounts_hub: AccountsHub, key: NewKey) -> None:
    revoke_key(accounts_hub.hub, OPERATOR, key.id)
