"""What stays on this machine, for keys and for `--offline`."""

import pytest

from prime_cli.core.loopback import is_loopback


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.example.org",
        "10.0.0.1",
        "localhost.example.org",
        "hub.localhost",
        "localhost.",
        "",
    ],
)
def test_only_this_machine_is_this_machine(host: str) -> None:
    assert not is_loopback(f"http://{host}/v1")


def test_loopback_is_told_by_name_and_number() -> None:
    assert is_loopback("http://localhost:1/v1")
    assert is_loopback("http://[::1]:1/v1")
    assert not is_loopback("http://localhost.example.com/v1")
    assert not is_loopback("http://10.0.0.1/v1")
    assert not is_loopback("http://model.localhost/v1")
