"""Sessions of browsers: what they begin with, what they may do, and when they end."""

from typing import Any

import pytest
from sqlalchemy import select

from prime_cli.core.errors import NotAllowed, NotFound, NotLoggedIn, RateLimited
from prime_cli.core.progress import Silent
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import browser_sessions
from prime_cli.hub.maintenance.garbage import collect_garbage
from prime_cli.hub.services.browser_sessions import (
    BrowserSession,
    begin_with_key,
    begin_with_login,
    end_session,
    find_session,
    require_form_token,
)
from prime_cli.hub.services.key_management import list_keys, revoke_key
from prime_cli.hub.services.logins import (
    MOST_FAILURES,
    approve_login,
    begin_browser_login,
    poll_login,
    refuse_login,
)
from prime_cli.hub.services.takedowns import take_down
from prime_cli.wire.accounts import NewTakedown
from tests.hub.accounts_hub import OPERATOR, AccountsHub

HERE = "192.0.2.7"


def sign_in(accounts_hub: AccountsHub, slug: str = "ada", **rights: Any) -> BrowserSession:
    """A user's new session, with a key of these rights."""
    accounts_hub.user(slug)
    token = begin_with_key(accounts_hub.hub, HERE, accounts_hub.key(slug, **rights))
    session = find_session(accounts_hub.hub, token)
    assert session is not None
    return session


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
def test_a_session_may_do_what_its_key_may(accounts_hub: AccountsHub, scope: str) -> None:
    session = sign_in(accounts_hub, scope=scope)
    assert session.caller.slug == "ada"
    assert bool(session.caller.writes) == (scope != "read")
    assert bool(session.caller.manages) == (scope == "admin")


def test_a_session_ends_with_its_key(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub)
    assert session.caller.key_id is not None
    revoke_key(accounts_hub.hub, OPERATOR, session.caller.key_id)
    assert find_session(accounts_hub.hub, session.token) is None


def test_a_session_ends_when_its_key_expires(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub, seconds=3600)
    accounts_hub.clock.wait(hours=2)
    assert find_session(accounts_hub.hub, session.token) is None


def test_a_session_ends_after_a_week_and_leaves_no_row(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub)
    accounts_hub.clock.wait(days=6)
    assert find_session(accounts_hub.hub, session.token) is not None
    accounts_hub.clock.wait(days=2)
    assert find_session(accounts_hub.hub, session.token) is None
    collect_garbage(accounts_hub.hub, Silent())
    with accounts_hub.hub.database.read() as connection:
        assert connection.execute(select(browser_sessions)).all() == []


def test_signing_out_ends_the_session_and_not_its_key(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub)
    end_session(accounts_hub.hub, session)
    assert find_session(accounts_hub.hub, session.token) is None
    assert session.caller.key_id in {key.id for key in list_keys(accounts_hub.hub, OPERATOR)}


def test_a_suspended_user_may_do_nothing(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub)
    take_down(accounts_hub.hub, OPERATOR, NewTakedown("ada", "spam"))
    found = find_session(accounts_hub.hub, session.token)
    assert found is not None
    assert found.caller == Caller(suspended="spam")
    with pytest.raises(NotAllowed, match="spam"):
        begin_with_key(accounts_hub.hub, HERE, accounts_hub.key("ada"))


def test_guessing_keys_is_stopped(accounts_hub: AccountsHub) -> None:
    for _ in range(MOST_FAILURES):
        with pytest.raises(NotLoggedIn):
            begin_with_key(accounts_hub.hub, HERE, "prime_sk_wrong")
    accounts_hub.user("ada")
    with pytest.raises(RateLimited):
        begin_with_key(accounts_hub.hub, HERE, accounts_hub.key("ada"))


def test_a_key_is_no_session(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    assert find_session(accounts_hub.hub, accounts_hub.key("ada")) is None


def test_a_login_approved_elsewhere_signs_a_browser_in(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    hub, key = accounts_hub.hub, accounts_hub.key("ada", scope="admin")
    login = begin_browser_login(hub, HERE)
    code, secret = login.challenge, login.status_auth_token
    assert begin_with_login(hub, HERE, code, secret) is None
    with pytest.raises(NotFound):
        begin_with_login(hub, HERE, code, "wrong")
    approve_login(hub, HERE, code, key)
    with pytest.raises(NotFound):
        poll_login(hub, code, secret)
    token = begin_with_login(hub, HERE, code, secret)
    assert token is not None
    with pytest.raises(NotFound):
        begin_with_login(hub, HERE, code, secret)
    session = find_session(hub, token)
    assert session is not None
    assert session.caller.slug == "ada"
    assert not session.caller.manages
    made = session.caller.key_id
    names = {each.id: each.name for each in list_keys(hub, OPERATOR)}
    assert names[str(made)] == f"browser from {HERE}"
    end_session(hub, session)
    assert made not in {each.id for each in list_keys(hub, OPERATOR)}


def test_a_refused_login_signs_nobody_in(accounts_hub: AccountsHub) -> None:
    login = begin_browser_login(accounts_hub.hub, HERE)
    refuse_login(accounts_hub.hub, HERE, login.challenge)
    with pytest.raises(NotFound):
        begin_with_login(accounts_hub.hub, HERE, login.challenge, login.status_auth_token)


def only_reads(statement: str) -> bool:
    """Whether it takes no lock of SQLite (BEGIN IMMEDIATE does), and changes nothing."""
    is_reading = statement == "BEGIN" or statement.endswith("READ ONLY")
    return statement.startswith("SELECT") or is_reading


def test_waiting_for_a_login_writes_nothing(accounts_hub: AccountsHub) -> None:
    login = begin_browser_login(accounts_hub.hub, HERE)
    with accounts_hub.statements() as statements:
        begin_with_login(accounts_hub.hub, HERE, login.challenge, login.status_auth_token)
    assert statements
    assert all(map(only_reads, statements)), statements


def test_guessing_the_code_of_a_browser_is_stopped(accounts_hub: AccountsHub) -> None:
    for _ in range(MOST_FAILURES):
        with pytest.raises(NotFound):
            begin_with_login(accounts_hub.hub, HERE, "INVENTED", "x")
    with accounts_hub.statements() as statements, pytest.raises(RateLimited):
        begin_with_login(accounts_hub.hub, HERE, "INVENTED", "x")
    assert all(map(only_reads, statements)), statements


def test_the_token_of_a_form_is_that_of_its_browser(accounts_hub: AccountsHub) -> None:
    session = sign_in(accounts_hub)
    other = begin_with_key(accounts_hub.hub, HERE, accounts_hub.key("ada"))
    require_form_token(session.token, session.form_token)
    for wrong in ("", "x", session.token):
        with pytest.raises(NotAllowed):
            require_form_token(session.token, wrong)
    with pytest.raises(NotAllowed):
        require_form_token(other, session.form_token)
