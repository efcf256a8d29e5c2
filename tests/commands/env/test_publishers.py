"""Trusting a repository, and what its jobs type without a key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prime_cli.client.api.single_requests import fetch
from prime_cli.session import Session
from tests.helpers.cli import Prime, Result
from tests.helpers.openid_provider import OpenIdProvider, openid_provider
from tests.helpers.wild import write_project
from tests.hub.accounts_hub import URL, AccountsHub

__all__ = ["openid_provider"]

CLAIMS: dict[str, Any] = {"aud": URL, "repository": "lab/words", "repository_id": "7"}


class Job:
    """A machine where prime was never used, and which has no key."""

    def __init__(self, prime: Prime, folder: Path, hub: AccountsHub) -> None:
        self.prime, self.hub = prime, hub
        self.project = write_project(folder / "environments" / "tiny_env")
        self.env = {"PRIME_HOME": str(folder / "job"), "PRIME_API_BASE_URL": URL}

    def upload(self, variables: Mapping[str, str], *words: str) -> Result:
        env = {**self.env, **variables}
        return self.prime("env", "upload", "--no-check", *words, cwd=self.project, env=env)

    def manage(self, *words: str) -> Result:
        env = {**self.env, "PRIME_API_KEY": self.hub.key("ada", scope="admin")}
        return self.prime("env", "publisher", *words, env=env)


@pytest.fixture
def job(prime: Prime, tmp_path: Path, openid_provider: OpenIdProvider) -> Job:
    issuers = frozenset({openid_provider.url})
    hub = AccountsHub(tmp_path / "served", settings={"publisher_issuers": issuers, "fetch": fetch})
    openid_provider.clock = lambda: hub.clock().timestamp()
    prime.make_session = lambda: Session(hub.transport())
    hub.user("ada")
    hub.team("lab", ada="ADMIN")
    return Job(prime, tmp_path, hub)


def trust(job: Job, provider: OpenIdProvider, *words: str) -> Result:
    issuer = ("--issuer", provider.url)
    return job.manage("add", "lab/tiny-env", "--github", "lab/words", *issuer, *words)


def test_job_with_a_token_in_its_variable_publishes(
    job: Job, openid_provider: OpenIdProvider
) -> None:
    added = trust(job, openid_provider).ok()
    assert "Jobs with repository lab/words" in added.err
    token = openid_provider.token(jti="1", **CLAIMS)
    done = job.upload({"PRIME_ID_TOKEN": token}).ok()
    assert "As the trusted publisher pub_" in done.err
    assert "by the token of this job (PRIME_ID_TOKEN); its key ends at 12:15 UTC" in done.err
    assert "Published lab/tiny-env@0.1.0" in done.err
    assert "prime_sk_" not in done.err + done.out
    assert token not in done.err + done.out
    again = job.upload({"PRIME_ID_TOKEN": token})
    assert again.code == 4
    assert "used before" in again.err


def test_job_of_github_asks_for_a_token_for_this_hub(
    job: Job, openid_provider: OpenIdProvider
) -> None:
    trust(job, openid_provider).ok()
    openid_provider.documents["/request"] = {"value": openid_provider.token(jti="1", **CLAIMS)}
    variables = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{openid_provider.url}/request?api=2",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-runner",
    }
    done = job.upload(variables, "--output", "json").ok()
    assert done.json["environment"] == "lab/tiny-env"
    assert done.json["publisher"].startswith("pub_")
    assert "GitHub Actions" in done.err
    query = openid_provider.queries["/request"]
    assert query == {"api": "2", "audience": URL}


def test_job_of_another_repository_is_told_what_it_is(
    job: Job, openid_provider: OpenIdProvider
) -> None:
    trust(job, openid_provider).ok()
    token = openid_provider.token(jti="1", **{**CLAIMS, "repository": "evil/words"})
    refused = job.upload({"PRIME_ID_TOKEN": token})
    assert refused.code == 4
    assert "matches this job (repository evil/words)" in refused.err
    assert "prime env publisher add" in refused.err


def test_job_without_the_permission_is_told_of_it(job: Job) -> None:
    refused = job.upload({"GITHUB_ACTIONS": "true"})
    assert refused.code == 4
    assert "id-token: write" in refused.err


def test_key_wins_over_a_token(job: Job) -> None:
    key = job.hub.key("ada")
    done = job.upload({"PRIME_API_KEY": key, "PRIME_ID_TOKEN": "not asked for"}).ok()
    assert "Published ada/tiny-env" in done.err
    assert "trusted publisher" not in done.err


def test_publishers_are_listed_and_removed(job: Job, openid_provider: OpenIdProvider) -> None:
    trust(job, openid_provider, "--workflow", "publish.yml", "--ref", "refs/tags/v*").ok()
    (listed,) = job.manage("list", "lab", "--output", "json").ok().json["publishers"]
    assert listed["claims"] == {
        "repository": "lab/words",
        "workflow_ref": "lab/words/.github/workflows/publish.yml@*",
        "ref": "refs/tags/v*",
    }
    assert "never" in job.manage("list", "lab/tiny-env").ok().out
    assert "Removed" in job.manage("remove", listed["id"]).ok().err
    assert job.manage("list", "--output", "json").ok().json["publishers"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("lab", "--github", "lab/words"),
        ("lab/words",),
        ("lab/words", "--github", "a/b", "--gitlab", "a/b"),
        ("lab/words", "--gitlab", "a/b", "--workflow", "x.yml"),
        ("lab/words", "--github", "a/b", "--ref-type", "tag"),
        ("lab/words", "--issuer", "https://ci.example", "--claim", "sub"),
        ("lab/words", "--issuer", "https://ci.example"),
        ("lab/words", "--github", "lab/words"),
    ],
)
def test_incomplete_words_are_refused(words: tuple[str, ...], job: Job) -> None:
    assert job.manage("add", *words).code == 2
