"""Keys that were made with other keys: what becomes of them when one is revoked."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.context import Caller
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.environments import delete_environment
from prime_cli.hub.services.keys import LONGEST_LINE, NewKey, find_caller
from prime_cli.hub.services.users import issue_key, list_keys, remove_user, revoke_all, revoke_key
from tests.hub.faults.shared_hub import at_once
from tests.hub.house import OPERATOR, House
from tests.hub.pushing import HUB, Push, data, names

DAY = 24 * 3600


@pytest.fixture
def ada(house: House) -> NewKey:
    """A key of Ada's, made on the machine of the hub, with which others can be made."""
    house.user("ada")
    return issue_key(house.hub, OPERATOR, "ada", name="root", scope="admin")


def child_of(house: House, parent: NewKey, name: str = "", scope: str = "admin") -> NewKey:
    return issue_key(house.hub, house.caller(parent.key), "ada", name=name, scope=scope)


def chain_of(house: House, first: NewKey, length: int) -> list[NewKey]:
    line = [first]
    while len(line) < length:
        line.append(child_of(house, line[-1]))
    return line


def alive(house: House, *keys: NewKey) -> list[bool]:
    return [find_caller(house.hub, made.key) is not None for made in keys]


def test_revoking_a_key_ends_its_line_and_nothing_beside_it(house: House, ada: NewKey) -> None:
    first, second, third = chain_of(house, ada, 3)
    beside = child_of(house, first)
    assert revoke_key(house.hub, OPERATOR, second.id) == [second.id, third.id]
    assert alive(house, first, second, third, beside) == [True, False, False, True]
    assert revoke_key(house.hub, OPERATOR, first.id) == [first.id, beside.id]
    assert alive(house, first, beside) == [False, False]


def test_list_names_the_parent(house: House, ada: NewKey) -> None:
    made = child_of(house, ada, "ci")
    listed = {key.id: key.parent for key in list_keys(house.hub, OPERATOR)}
    assert listed[made.id] == ada.id
    assert listed[ada.id] is None
    shown = data(house.client(ada.key).get("/api/v1/user/keys"))["keys"]
    assert {key["id"]: key["parent"] for key in shown} == listed


def test_audit_names_the_line(house: House, ada: NewKey) -> None:
    _, second, third = chain_of(house, ada, 3)
    revoke_key(house.hub, OPERATOR, second.id)
    revoked, made, *_ = list_entries(house.hub, action="key.")
    assert made.detail["line"] == [ada.id, second.id]
    assert revoked.detail["key"] == second.id
    assert revoked.detail["made_with_it"] == [third.id]


def test_audit_shows_what_was_done_with_a_line_also_when_it_is_revoked(
    house: House, ada: NewKey
) -> None:
    _, second, third = chain_of(house, ada, 3)
    other = child_of(house, ada)
    for name, key in (("mine", ada), ("far", third), ("beside", other)):
        data(Push(house.client(key.key), name).resolve())
    revoke_key(house.hub, OPERATOR, ada.id)

    def made_with(key: NewKey) -> list[str]:
        found = list_entries(house.hub, action="environment.", key=key.id)
        return [entry.target for entry in reversed(found)]

    assert made_with(ada) == ["ada/mine", "ada/far", "ada/beside"]
    assert made_with(second) == ["ada/far"]
    assert made_with(other) == ["ada/beside"]


def test_key_that_revokes_itself_takes_its_line_along(house: House, ada: NewKey) -> None:
    made = child_of(house, ada, scope="read")
    answer = house.client(ada.key).delete("/api/v1/user/keys/current")
    assert data(answer)["revoked"] == 2
    assert alive(house, ada, made) == [False, False]


@pytest.mark.parametrize("end", [revoke_all, remove_user])
def test_all_keys_of_a_user_are_counted(
    house: House, ada: NewKey, end: Callable[..., object]
) -> None:
    chain_of(house, ada, 3)
    end(house.hub, OPERATOR, "ada")
    (entry,) = list_entries(house.hub, limit=1)
    # With the one that every user of this house has.
    assert entry.detail["keys_revoked"] == 4
    assert list_keys(house.hub, OPERATOR) == []


def test_line_that_expires_ends_at_once(house: House) -> None:
    house.user("ada")
    brief = issue_key(house.hub, OPERATOR, "ada", scope="admin", seconds=DAY)
    made = issue_key(house.hub, house.caller(brief.key), "ada", seconds=DAY)
    house.clock.wait(days=1)
    assert alive(house, brief, made) == [False, False]


def test_line_has_an_end(house: House, ada: NewKey) -> None:
    *earlier, last = chain_of(house, ada, LONGEST_LINE)
    with pytest.raises(NotAllowed, match="the last in a chain of 32"):
        child_of(house, last)
    child_of(house, earlier[-1])
    assert len(revoke_key(house.hub, OPERATOR, ada.id)) == LONGEST_LINE + 1


def test_key_that_was_revoked_since_it_asked_makes_none(house: House, ada: NewKey) -> None:
    caller = house.caller(ada.key)
    revoke_key(house.hub, OPERATOR, ada.id)
    with pytest.raises(NotLoggedIn, match="was just revoked"):
        issue_key(house.hub, caller, "ada")


def test_key_that_expired_since_it_asked_makes_none(house: House) -> None:
    house.user("ada")
    caller = house.caller(house.key("ada", scope="admin", seconds=DAY))
    house.clock.wait(days=1)
    with pytest.raises(NotLoggedIn, match="has expired"):
        issue_key(house.hub, caller, "ada", seconds=1)


def test_request_that_was_let_in_writes_nothing_once_its_key_is_revoked(
    house: House, ada: NewKey
) -> None:
    """What is noted in the audit log is undone: the key is looked at in the same transaction."""
    client = house.client(ada.key)
    data(Push(client).resolve())
    caller = house.caller(ada.key)
    revoke_key(house.hub, OPERATOR, ada.id)
    with pytest.raises(NotLoggedIn):
        delete_environment(house.hub, caller, "ada/word")
    other = house.client(house.key("ada"))
    assert other.get(f"{HUB}/ada/word/status").status_code == 200


def test_upload_address_ends_with_the_key_that_it_was_given_to(house: House, ada: NewKey) -> None:
    push = Push(house.client(ada.key))
    push.environment_id = data(push.resolve())["id"]
    url = data(push.declare_wheel())["upload_url"]
    revoke_key(house.hub, OPERATOR, ada.id)
    answer = house.client().put(url, content=push.wheel)
    assert answer.status_code == 404
    assert "Unknown" in answer.json()["detail"]


def test_upload_under_way_is_refused_when_its_key_is_revoked(house: House, ada: NewKey) -> None:
    push = Push(house.client(ada.key))
    push.environment_id = data(push.resolve())["id"]
    url = data(push.declare_wheel())["upload_url"]

    def body() -> Iterator[bytes]:
        yield push.wheel[:10]
        revoke_key(house.hub, OPERATOR, ada.id)
        yield push.wheel[10:]

    answer = house.client().put(url, content=body())
    assert answer.status_code == 401, answer.text
    good = Push(house.client(house.key("ada")))
    good.environment_id = push.environment_id
    # Nothing has come of it: the same bytes are asked for again.
    assert data(good.declare_wheel())["upload_url"] is not None
    assert names(good.run().client) == ["word"]


def test_no_child_outlives_a_parent_that_is_revoked_meanwhile(house: House) -> None:
    """Whichever of the two comes first, in transactions that wait for each other."""
    house.user("ada")
    for _ in range(20):
        root = issue_key(house.hub, OPERATOR, "ada", scope="admin")
        made: list[NewKey] = []
        make = partial(_unless_revoked, house, house.caller(root.key), made)
        at_once([make, partial(_revoke, house, root)])
        assert not any(alive(house, root, *made))


def _unless_revoked(house: House, caller: Caller, made: list[NewKey]) -> None:
    with contextlib.suppress(NotLoggedIn):
        made.append(issue_key(house.hub, caller, "ada"))


def _revoke(house: House, key: NewKey) -> None:
    revoke_key(house.hub, OPERATOR, key.id)
