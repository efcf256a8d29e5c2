import pytest

from prime_cli.core.errors import UsageError
from prime_cli.models.endpoints import clean_url


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("http://0.0.0.0:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://[::]:8000/v1", "http://[::1]:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1"),
    ],
)
def test_addresses_are_written_as_they_are_called(given: str, called: str) -> None:
    assert clean_url(given)[0] == called


@pytest.mark.parametrize("url", ["http://ada:planted@localhost/v1", "https://planted@host/v1"])
def test_a_url_with_a_login_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError, match="holds a user name or a password") as refused:
        clean_url(url)
    assert "planted" not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://x:y/v1", ""])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        clean_url(url)
