"""Addresses of hubs as people type them."""

import pytest

from prime_cli.accounts.addresses import approval_url, read_hub_url
from prime_cli.accounts.browser_login import has_desktop, open_page
from prime_cli.core.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("https://hub.example.org", "https://hub.example.org"),
        ("HTTPS://Hub.Example.org/api/v1/", "https://hub.example.org"),
        ("hub.example.org", "https://hub.example.org"),
        (" hub.example.org:8443/ ", "https://hub.example.org:8443"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://example.org/hub/", "https://example.org/hub"),
    ],
)
def test_an_address_is_read_as_intended(typed: str, read: str) -> None:
    assert read_hub_url(typed, allow_http=False) == read


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "ftp://hub.example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://user:pass@hub.example.org",
        "https://hub.example.org?x=1",
        "https://hub.example.org#x",
        "https://hub.example.org:port",
        "https://hub.example.org\\@evil.example",
        "https://hub example.org",
        "https://hub.example.org\r\nHost: evil",
        "https://\x1b[2J.example.org",
    ],
)
def test_an_invalid_address_of_a_hub_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        read_hub_url(typed, allow_http=True)


def test_keys_leave_this_machine_by_https_unless_that_is_allowed() -> None:
    with pytest.raises(UsageError, match="unencrypted") as caught:
        read_hub_url("http://hub.example.org", allow_http=False)
    assert "--allow-http" in (caught.value.hint or "")
    assert read_hub_url("http://10.0.0.5:8000", allow_http=True) == "http://10.0.0.5:8000"


def test_a_code_is_quoted_in_the_address_of_its_page() -> None:
    page = approval_url("https://app.example.org/", "A&b=c#d")
    assert page == "https://app.example.org/dashboard/tokens/challenge?code=A%26b%3Dc%23d"


@pytest.mark.parametrize(
    ("environ", "platform", "shown"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "darwin", False),
        ({"DISPLAY": ":10", "SSH_TTY": "/dev/pts/1"}, "linux", False),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", False),
        ({"DISPLAY": ":0", "CI": "false"}, "linux", True),
    ],
)
def test_a_browser_opens_only_in_an_interactive_session(
    environ: dict[str, str], platform: str, shown: bool
) -> None:
    assert has_desktop(environ, platform) is shown


def test_only_web_pages_are_opened() -> None:
    assert not open_page("file:///etc/passwd")
    assert not open_page("--help")
