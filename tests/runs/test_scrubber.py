"""Which values are secrets, and that they are found in whatever form a program prints them."""

import json
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.providers import EndpointSecret, KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from prime_cli.runs.scrubber import Scrubber, secrets_of


def test_a_key_in_a_query_is_a_secret_but_an_api_version_is_not() -> None:
    endpoint = Endpoint("m", "https://host/v1", query="api-version=2024-10-21&key=pl%2Banted")
    found = secrets_of(endpoint, {}, {}).values()
    assert {"pl%2Banted", "pl+anted"} <= set(found)
    assert "2024-10-21" not in found


BUILTIN = Endpoint("m", builtin=True)
AWKWARD = 'pä"ss\\wo/rd+=\n&\t%'


@pytest.mark.parametrize(
    "written",
    [
        AWKWARD,
        repr(AWKWARD),
        json.dumps({"key": AWKWARD}),
        json.dumps({"key": AWKWARD}, ensure_ascii=False),
        json.dumps({"arguments": json.dumps({"key": AWKWARD})}),
        f"https://host/?key={quote(AWKWARD, safe='')}",
        f"https://host/{quote(AWKWARD)}",
        f"https://host/?{urlencode({'key': AWKWARD})}",
        quote_plus(AWKWARD),
    ],
)
def test_a_secret_is_found_as_programs_write_it(written: str) -> None:
    said = Scrubber({"NAME": AWKWARD}).text(written)
    assert "[NAME]" in said
    assert "wo" not in said
    assert "rd" not in said.replace("[NAME]", "")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=12), st.text(), st.text())
def test_no_secret_is_left_in_json(secret: str, before: str, after: str) -> None:
    scrub = Scrubber({"N": secret})
    said = scrub(json.dumps([before, secret, after]).encode())
    if len(secret.strip()) >= 12:
        assert json.dumps(secret)[1:-1].encode() not in said.replace(b"[N]", b"")


def test_each_line_of_a_key_in_several_is_taken_out_of_a_log() -> None:
    lines = ["-----BEGIN KEY-----", "MIIEvQIBADANBgkqhkiG9w0", "BAQEFAASCBKcwggSjAgEAAo", "-----"]
    scrub = Scrubber({"PEM": "\n".join(lines)})
    said = b"".join(scrub(f"{line}\n".encode()) for line in lines)
    assert b"MIIE" not in said
    assert b"BAQEF" not in said


def test_a_key_that_was_read_with_its_line_break_is_found_without() -> None:
    assert Scrubber({"K": "sk-planted\n"}).text("bad key sk-planted!") == "bad key [K]!"


def test_keys_and_headers_of_judges_are_known() -> None:
    url = "https://user:pass-of-url@judge/v1"
    entries = (
        RegistryEntry(
            "judge", "j", url, KeySource.parse("sk-written-down"), headers={"X-Api-Key": "xk"}
        ),
        RegistryEntry("other", "o", "https://other/v1", KeySource("THEIRS")),
    )
    found = secrets_of(BUILTIN, {"THEIRS": "tk-short"}, {}, Registry(entries=entries))
    assert set(found.values()) == {"sk-written-down", "xk", "tk-short", "pass-of-url"}


def test_a_header_is_known_with_its_scheme_and_without() -> None:
    endpoint = Endpoint(
        "m", "http://x/v1", EndpointSecret("k"), {"Authorization": "Basic dXNlcjpw"}
    )
    scrub = Scrubber(secrets_of(endpoint, {}, {}))
    assert "dXNlcjpw" not in scrub.text("Basic dXNlcjpw refused: dXNlcjpw")


def test_the_password_of_a_proxy_is_a_secret() -> None:
    environ = {"HTTPS_PROXY": "http://me:p%40ss-word@proxy:3128", "http_proxy": "http://[bad"}
    assert set(secrets_of(BUILTIN, environ, {}).values()) == {"p%40ss-word", "p@ss-word"}


def test_two_keys_of_one_group_have_names_of_their_own() -> None:
    second = Endpoint("m", "http://y/v1", EndpointSecret("sk-second"))
    first = Endpoint("m", "http://x/v1", EndpointSecret("sk-first"), others=(second,))
    found = secrets_of(first, {}, {})
    assert found == {"MODEL_KEY": "sk-first", "MODEL_KEY 2": "sk-second"}
