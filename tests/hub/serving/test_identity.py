from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.hub.serving.identity import CLIENT_SECRET, IdentityOptions
from prime_cli.wire.publishers import GITHUB, GITLAB

ISSUER = "https://login.example.org"


def test_hub_without_a_provider_signs_nobody_in_and_knows_the_public_issuers() -> None:
    assert IdentityOptions().sign_in() is None
    assert IdentityOptions().issuers() == {GITHUB, GITLAB}
    assert IdentityOptions(publisher_issuers="none").issuers() == frozenset()


def test_settings_are_those_of_the_options() -> None:
    settings = IdentityOptions(
        oidc_issuer=ISSUER, oidc_client_id="prime", oidc_domains="Corp.Example, b.example"
    ).sign_in()
    assert settings is not None
    assert settings.name == "login.example.org"
    assert settings.domains == {"corp.example", "b.example"}
    assert settings.client_secret is None


def test_secret_is_in_the_variable_or_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLIENT_SECRET, "of-the-variable")
    options = IdentityOptions(oidc_issuer=ISSUER, oidc_client_id="prime")
    settings = options.sign_in()
    assert settings is not None
    assert settings.client_secret == "of-the-variable"
    assert "of-the-variable" not in repr(settings)
    file = tmp_path / "secret"
    file.write_text("of-the-file\n", encoding="utf-8")
    file.chmod(0o644)
    options = IdentityOptions(ISSUER, "prime", oidc_client_secret_file=file)
    with pytest.raises(UsageError, match="can read"):
        options.sign_in()
    file.chmod(0o600)
    settings = options.sign_in()
    assert settings is not None
    assert settings.client_secret == "of-the-file"


@pytest.mark.parametrize(
    "options",
    [
        IdentityOptions(oidc_issuer=ISSUER),
        IdentityOptions(oidc_client_id="prime"),
        IdentityOptions(oidc_issuer="http://login.example.org", oidc_client_id="prime"),
        IdentityOptions(oidc_issuer=f"{ISSUER}?a=b", oidc_client_id="prime"),
        IdentityOptions(oidc_issuer="login.example.org", oidc_client_id="prime"),
    ],
)
def test_incomplete_or_unsafe_provider_is_refused(options: IdentityOptions) -> None:
    with pytest.raises(UsageError):
        options.sign_in()


def test_issuers_need_https() -> None:
    with pytest.raises(UsageError, match="publisher-issuers"):
        IdentityOptions(publisher_issuers="http://gitlab.example").issuers()
    assert IdentityOptions(publisher_issuers="http://127.0.0.1:8").issuers()
