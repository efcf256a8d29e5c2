"""Who publishes where, and which setting says so."""

from pathlib import Path

from tests.helpers.cli import Prime


def test_the_local_hub_knows_the_owner_without_a_login(prime: Prime) -> None:
    assert prime("whoami", "--output", "json").ok().json == {
        "id": "local_ada",
        "name": "ada",
        "slug": "ada",
        "scope": None,
        "owner": "ada",
        "owner_source": "PRIME_OWNER",
        "email": None,
        "team": None,
        "team_source": None,
        "context": "local",
        "context_source": "default",
        "hub": None,
        "key_source": None,
    }


def test_it_is_reported_in_labelled_lines(prime: Prime) -> None:
    shown = prime("whoami", "--offline", env={"PRIME_OWNER": "grace"}).ok()
    assert shown.out.splitlines() == [
        "owner    grace  (from PRIME_OWNER)",
        "hub      in this process  (from default)",
        "context  local  (from default)",
        "key      no key needed",
    ]


def test_a_served_hub_without_a_key_is_not_logged_in(prime: Prime) -> None:
    result = prime("whoami", "--context", "prime")
    assert (result.code, result.out) == (4, "")
    assert "hint: log in with `prime login`, or set PRIME_API_KEY to your key" in result.err


def test_a_read_only_home_is_reported(prime: Prime, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = prime("whoami", env={"PRIME_HOME": str(tmp_path / "file" / "home")})
    assert result.code == 74
    assert result.err.startswith("error: ")
    assert "hint: set PRIME_HOME to a writable folder" in result.err
