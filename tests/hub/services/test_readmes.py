import time
from dataclasses import replace

import httpx
import pytest
from msgspec import structs
from sqlalchemy import select, update

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import readmes
from prime_cli.hub.services.readmes import render_soon
from tests.helpers.database import sqlite_only
from tests.hub.accounts_hub import AccountsHub
from tests.hub.pushing import HUB, Push, data, make_sources

PAGE = "/dashboard/environments/ada/word"
HOSTILE = "![" * 100_000


def publish(client: httpx.Client, readme: str, version: str = "0.1.0") -> Push:
    push = Push(client, version=version)
    push.sources = make_sources({"pyproject.toml": "", "README.md": readme})
    return push.run()


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> httpx.Client:
    return accounts_hub.user("ada")


def kept(accounts_hub: AccountsHub) -> list[str]:
    with accounts_hub.hub.database.read() as connection:
        return list(connection.execute(select(readmes.c.html)).scalars())


def test_a_readme_is_rendered_at_its_first_view_and_kept(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    publish(ada, "# About *words*\n")
    assert kept(accounts_hub) == []
    assert "<h1>About <em>words</em></h1>" in ada.get(PAGE).text
    assert kept(accounts_hub) == ["<h1>About <em>words</em></h1>\n"]
    with accounts_hub.hub.database.write() as connection:
        connection.execute(update(readmes).values(html="<p>what is kept</p>"))
    assert "<p>what is kept</p>" in ada.get(PAGE).text


def test_a_served_hub_renders_a_readme_when_it_is_published(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    publish(ada, "# About *words*\n")
    settings = replace(accounts_hub.hub.settings, embedded=False)
    served = structs.replace(accounts_hub.hub, settings=settings)
    render_soon(served, Caller("ada", reads=frozenset({"ada"})), EnvRef("ada", "word", "0.1.0"))
    deadline = time.monotonic() + 30
    while not kept(accounts_hub):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert kept(accounts_hub) == ["<h1>About <em>words</em></h1>\n"]


def test_links_of_a_readme_lead_to_the_files_of_its_version(ada: httpx.Client) -> None:
    push = Push(ada)
    files = {
        "README.md": "[rules](docs/rules.md) ![chart](chart.png)",
        "docs/rules.md": "<b>Be fair",
    }
    push.sources = make_sources({"pyproject.toml": "", "chart.png": "\0PNG", **files})
    push.run()
    at = f"{PAGE}/@0.1.0/files"
    page = ada.get(PAGE).text
    assert f'href="{at}/docs/rules.md"' in page
    assert f'href="{at}/chart.png"' in page
    assert "&lt;b&gt;Be fair" in ada.get(f"{at}/docs/rules.md").text
    assert f'href="{at}/docs/rules.md"' in ada.get(f"{at}/docs").text
    assert "prime env pull ada/word@0.1.0" in ada.get(f"{at}/chart.png").text
    assert ada.get(f"{at}/nothing").status_code == 404


def test_links_of_a_readme_follow_its_owner_to_another_name(ada: httpx.Client) -> None:
    publish(ada, "[rules](rules.md)\n")
    assert 'href="/dashboard/environments/ada/' in ada.get(PAGE).text
    ada.patch("/api/v1/user/slug", json={"slug": "lovelace"}).raise_for_status()
    page = ada.get(PAGE.replace("/ada/", "/lovelace/")).text
    assert 'href="/dashboard/environments/ada/' not in page
    assert 'href="/dashboard/environments/lovelace/' in page


def test_another_renderer_renders_it_again(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    publish(ada, "# About\n")
    ada.get(PAGE).raise_for_status()
    with accounts_hub.hub.database.write() as connection:
        connection.execute(update(readmes).values(html="<p>old</p>", renderer=0))
    assert "<h1>About</h1>" in ada.get(PAGE).text
    assert kept(accounts_hub) == ["<h1>About</h1>\n"]


def test_a_new_version_shows_its_own_readme(ada: httpx.Client) -> None:
    publish(ada, "one")
    assert "<p>one</p>" in ada.get(PAGE).text
    publish(ada, "two", "0.2.0")
    assert "<p>two</p>" in ada.get(PAGE).text


def test_what_is_kept_goes_with_its_version(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    push = publish(ada, "one")
    ada.get(PAGE).raise_for_status()
    data(ada.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    assert kept(accounts_hub) == []


@sqlite_only
def test_a_readme_is_shown_while_nothing_can_be_written(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    publish(ada, "# About\n\n" + "many words\n" * 5000)
    with accounts_hub.hub.database.write() as connection:
        used = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {used}")
    answer = ada.get(PAGE)
    assert (answer.status_code, "<h1>About</h1>" in answer.text) == (200, True)
    assert kept(accounts_hub) == []


def test_a_readme_that_shows_nothing_is_no_unrendered_one(ada: httpx.Client) -> None:
    publish(ada, "[here]: https://example.org\n")
    assert "too deeply nested" not in ada.get(PAGE).text


def test_no_readme_is_reported(ada: httpx.Client) -> None:
    publish(ada, " \n")
    assert "No README." in ada.get(PAGE).text


@pytest.mark.slow
def test_a_readme_that_takes_too_long_is_shown_as_its_text(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    publish(ada, f"<b>{HOSTILE}")
    page = ada.get(PAGE).text
    assert kept(accounts_hub) == [""]
    for shown in (page, ada.get(PAGE).text):
        assert "too deeply nested to be rendered" in shown
        assert "&lt;b&gt;![![![" in shown
