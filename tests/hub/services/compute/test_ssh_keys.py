import pytest
from sqlalchemy import select

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.compute.access import keys_for
from tests.helpers.ssh_keys import line
from tests.hub.accounts_hub import AccountsHub
from tests.hub.routes.test_ssh_keys import add


def ids(accounts_hub: AccountsHub, *slugs: str) -> list[str]:
    with accounts_hub.hub.database.read() as connection:
        rows = connection.execute(select(owners.c.slug, owners.c.id)).all()
    by_slug = {row.slug: row.id for row in rows}
    return [by_slug[slug] for slug in slugs]


def test_a_pod_is_opened_by_all_keys_of_those_who_see_it(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    for client, number in ((ada, 1), (ada, 2), (bob, 2), (bob, 3)):
        add(client, number)
    with accounts_hub.hub.database.read() as connection:
        found = keys_for(connection, ids(accounts_hub, "ada", "bob"))
    assert sorted(found) == sorted(line(number) for number in (1, 2, 3))


def test_a_pod_is_opened_by_the_key_that_is_named_alone(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    add(ada, 1)
    second, other = add(ada, 2), add(bob, 3)
    users = ids(accounts_hub, "ada", "bob")
    with accounts_hub.hub.database.read() as connection:
        assert keys_for(connection, users, second["id"]) == (line(2),)
        for wrong in (other["id"], "nothing"):
            with pytest.raises(NotFound):
                keys_for(connection, users, wrong)


def test_without_a_key_there_is_no_way_in(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    with (
        accounts_hub.hub.database.read() as connection,
        pytest.raises(UsageError, match="no SSH key") as refused,
    ):
        keys_for(connection, ids(accounts_hub, "ada"))
    assert "prime ssh-keys add" in str(refused.value.hint)
