"""What uv says when it fails is told in words that name who did not answer."""

import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import Offline, StorageFailed, Unreachable, UsageError
from prime_cli.core.paths import prime_home
from prime_cli.core.process import Completed
from prime_cli.runtime.uv_tool import (
    disk_failure,
    network_failure,
    reason_of_failure,
    spare_cache,
)

_CAUSE = "\n  cause: Request failed after 3 retries\n  cause: dns error\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("error: Failed to fetch: `https://index.example/six/`", "The package index did not"),
        (
            "error: Failed to download `six @ https://me:secret@files.invalid:99/six-1.whl`",
            "files.invalid did not answer, the host of the URL of `six`",
        ),
        (
            "error: Failed to build `a.b @\n     git+ssh://git@code.invalid/a/b@v1`",
            "code.invalid did not answer, the host of the URL of `a.b`",
        ),
    ],
)
def test_the_server_that_did_not_answer_is_named(said: str, told: str) -> None:
    failure = network_failure(Completed(1, "", said + _CAUSE), offline=False)

    assert isinstance(failure, Unreachable)
    assert failure.message.startswith(told)


THROUGH = """error: Request failed after 3 retries in 6.7s
  cause: Failed to fetch: https://packages.example/six/
  cause: error sending request for url (https://packages.example/six/)
  cause: client error (Connect)
  cause: {}
  cause: Connection refused (os error 111)
"""


@pytest.mark.parametrize(
    "cause", ["tunnel error: failed to create underlying connection", "tcp connect error"]
)
def test_a_dead_proxy_is_named_with_its_variable(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Completed(1, "", THROUGH.format(cause))
    direct = network_failure(done, offline=False)
    assert direct is not None
    assert "proxy" not in direct.message
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:secret@127.0.0.1:9")
    failure = network_failure(done, offline=False)
    assert isinstance(failure, Unreachable)
    assert failure.message == (
        "The proxy http://127.0.0.1:9 cannot be used to call packages.example: "
        "Connection refused (os error 111)"
    )
    assert "correct HTTPS_PROXY" in (failure.hint or "")


def test_a_missing_file_of_certificates_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    said = (
        "error: Failed to fetch\n  cause: error sending request\n  cause: invalid peer certificate"
    )
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE \(/nowhere/ca.pem\) cannot be read"):
        network_failure(Completed(1, "", said), offline=False)


def test_a_missing_cache_entry_offline_is_not_a_network_error() -> None:
    said = "cause: Network connectivity is disabled, but the requested data wasn't found"

    assert isinstance(network_failure(Completed(1, "", said), offline=True), Offline)
    assert network_failure(Completed(1, "", "error: no such version"), offline=True) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "cause: failed to write to file `/x/.venv/a`: No space left on device (os error 28)",
            "The disk is full",
        ),
        (
            "cause: failed to create directory `/x/.venv`: Read-only file system (os error 30)",
            "uv could not write its files: Read-only file system",
        ),
        (
            "cause: failed to create directory `/x/.venv`: Permission denied (os error 13)",
            "uv could not write its files: Permission denied",
        ),
    ],
)
def test_a_full_disk_is_not_the_fault_of_the_environment(said: str, told: str) -> None:
    failure = disk_failure(Completed(2, "", said))

    assert isinstance(failure, StorageFailed)
    assert failure.message.startswith(told)


def test_a_permission_error_is_not_reported_as_a_full_disk() -> None:
    said = "cause: failed to query `/x/python`: Permission denied (os error 13)"

    assert disk_failure(Completed(2, "", said)) is None


def test_a_certificate_by_an_unknown_authority_is_no_silent_index() -> None:
    said = "error: Failed to fetch: `https://index.example/idna/`\n  cause: client error "
    said += "(Connect)\n  cause: invalid peer certificate: UnknownIssuer"
    failure = network_failure(Completed(1, "", said), offline=False)
    assert isinstance(failure, Unreachable)
    assert "certificate" in failure.message
    assert "SSL_CERT_FILE" in (failure.hint or "")


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def test_a_home_that_can_be_written_keeps_the_cache(home: Path) -> None:
    assert spare_cache({}) is None
    assert not (home / ".cache").exists()


def test_what_the_user_says_of_the_cache_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/1/nowhere")
    assert spare_cache({"UV_CACHE_DIR": "/proc/1/elsewhere"}) is None
    assert spare_cache({"UV_NO_CACHE": "1"}) is None


def test_a_home_that_cannot_be_written_leaves_it_to_prime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Of /proc even root can make nothing.
    monkeypatch.setenv("HOME", "/proc/1/nowhere")
    assert spare_cache({}) == prime_home() / "uv"
    assert spare_cache({"XDG_CACHE_HOME": str(tmp_path)}) is None


_MISSPELT = """error: No solution found when resolving dependencies
  cause: Because nltkk was not found in the package registry and tiny==1 depends on nltkk, we
         can conclude that tiny==1 cannot be used.
         And because only tiny==1 is available and you require tiny, we can conclude that it fails.
"""
_IMPOSSIBLE = """error: No solution found when resolving dependencies
  cause: Because only tiny==1 is available and tiny==1 depends on numpy>=99, we can conclude that
         all versions of tiny depend on numpy>=99.
         And because only numpy<=2.5.5 is available and you require tiny, we can conclude that
"""
_UNBUILT = """error: Failed to build `numpy==1.19.0`
  cause: The build backend returned an error

   [stderr]
   NameError: no compiler

hint: This error likely indicates
"""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            _MISSPELT,
            "nltkk was not found in the package registry and tiny==1 depends on nltkk",
        ),
        (_IMPOSSIBLE, "tiny==1 depends on numpy>=99 and only numpy<=2.5.5 is available"),
        (_UNBUILT, "`numpy==1.19.0` could not be built from source: NameError: no compiler"),
        ("error: something else", "error: something else"),
    ],
)
def test_the_reason_of_a_failure_is_one_clause_that_names_the_package(
    said: str, reason: str
) -> None:
    assert reason_of_failure(Completed(1, "", said)) == reason
