import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from prime_cli.core.errors import PrimeError
from prime_cli.web.server import Guard

PORT = 8800
ORIGIN = f"http://127.0.0.1:{PORT}"


async def shown(request: Request) -> Response:
    return PlainTextResponse(f"page {request.query_params}")


def refuse(error: PrimeError, status: int) -> Response:
    return PlainTextResponse(error.message, status)


@pytest.fixture
def guard() -> Guard:
    return Guard(Starlette(routes=[Route("/{path:path}", shown)]), port=PORT, refuse=refuse)


def browser(guard: Guard, origin: str = ORIGIN) -> TestClient:
    return TestClient(guard, base_url=origin, follow_redirects=False)


def test_the_token_becomes_a_cookie_and_leaves_the_address(guard: Guard) -> None:
    client = browser(guard)

    answer = client.get(f"/runs?text=a&token={guard.token}")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/runs?text=a"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert guard.token not in cookie
    assert client.get("/runs?text=a").text == "page text=a"


def test_the_token_is_good_once(guard: Guard) -> None:
    browser(guard).get(f"/?token={guard.token}")

    assert browser(guard).get(f"/?token={guard.token}").status_code == 403


def test_an_old_address_of_the_same_browser_still_leads_to_its_page(guard: Guard) -> None:
    client = browser(guard)
    client.get(f"/?token={guard.token}")

    assert client.get(f"/runs?token={guard.token}").headers["location"] == "/runs"


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=%ff"])
def test_without_the_token_nothing_is_shown(guard: Guard, query: str) -> None:
    assert browser(guard).get(f"/runs{query}").status_code == 403
    assert browser(guard).get(f"/?token={guard.token}").status_code == 303


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1.evil.example:{PORT}"]
)
def test_a_name_that_leads_here_is_refused_even_with_the_cookie(guard: Guard, host: str) -> None:
    client = browser(guard)
    client.get(f"/?token={guard.token}")

    assert client.get("/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_other_names_of_this_machine_are_accepted(guard: Guard, host: str) -> None:
    client = browser(guard)
    client.get(f"/?token={guard.token}")

    assert client.get("/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://127.0.0.1:{PORT}", ORIGIN[:-1]]
)
def test_only_forms_of_these_pages_are_let_through(guard: Guard, origin: str | None) -> None:
    client = browser(guard)
    client.get(f"/?token={guard.token}")
    headers = {} if origin is None else {"origin": origin}

    assert client.post("/runs", headers=headers).status_code == 403
    assert client.post("/runs", headers={"origin": ORIGIN}).status_code == 405  # has no form
    assert client.delete("/runs", headers={"origin": ORIGIN}).status_code == 405
    assert browser(guard).post("/runs", headers={"origin": ORIGIN}).status_code == 403


def test_the_token_leads_to_no_other_host(guard: Guard) -> None:
    answer = browser(guard).get(f"{ORIGIN}//evil.example/?token={guard.token}")

    assert answer.headers["location"] == "/evil.example/"


def test_malformed_cookies_are_no_cookies(guard: Guard) -> None:
    answer = browser(guard).get("/runs", headers={"cookie": 'a="; prime-open-8800=x; \x01=;'})

    assert answer.status_code == 403


@pytest.mark.parametrize("other", ['prefs={"a":1}', "my cookie", "a@b=1", "=", '"'])
def test_cookies_of_other_servers_of_this_machine_do_not_matter(guard: Guard, other: str) -> None:
    own = browser(guard).get("/runs", params={"token": guard.token}).headers["set-cookie"]
    cookie = f"{other}; {own.partition(';')[0]}"

    answer = browser(guard).get("/runs", headers={"cookie": cookie})

    assert answer.status_code == 200
