"""Secrets and keys at a terminal: typed unseen, and given up after a question."""

from pathlib import Path

import pytest

from prime_cli.hub.context import Caller
from prime_cli.hub.services import key_management
from prime_cli.hub.services.identities import list_identities
from tests.helpers.cli import Prime
from tests.helpers.cli import prime_process as run
from tests.helpers.hubs import open_hub, publish
from tests.helpers.identities import ISSUER, link_identity
from tests.helpers.team_hub import TeamHub
from tests.helpers.terminal import Terminal
from tests.screens.asking import CTRL_C, CTRL_D, decline_then_agree

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal")]

OPERATOR = Caller.operator()
VALUE = "typed-unseen-7f3a"
FEW = ("n\n", CTRL_D, CTRL_C)


def test_what_is_kept_is_set_unseen_and_deleted_after_a_yes(
    prime: Prime, home: Path, team_hub: TeamHub, tmp_path: Path
) -> None:
    hub = open_hub(home / ".prime" / "hub")
    env_id = hub.environments.get(publish(hub, tmp_path, "wordle")).id
    with Terminal("secret", "set", "API_TOKEN", cwd=tmp_path) as terminal:
        terminal.wait_for("Value of API_TOKEN:")
        terminal.type(f"{VALUE}\n")
        assert terminal.end() == 0
        assert "Created your secret `API_TOKEN`" in terminal.text
        assert VALUE not in "".join(terminal.seen)
    prime("env", "secret", "link", "ada/wordle", "API_TOKEN").ok()
    decline_then_agree(
        *("env", "secret", "unlink", "ada/wordle", "API_TOKEN"),
        asked="Unlink the secret `API_TOKEN` from ada/wordle?",
        kept="Nothing was unlinked",
        state=lambda: len(hub.secrets.of_environment(env_id).list()),
        cwd=tmp_path,
        refusals=FEW,
    )
    decline_then_agree(
        *("secret", "delete", "API_TOKEN"),
        asked="Delete your secret `API_TOKEN`?",
        kept="Nothing was deleted",
        state=lambda: len(hub.secrets.of_owner().list()),
        cwd=tmp_path,
        refusals=FEW,
    )
    user = team_hub.add_user()
    key = team_hub.add_key(user)
    link_identity(team_hub.hub, user)
    admin = key_management.issue_key(team_hub.hub, OPERATOR, user, scope="admin")
    words = ("login", "--hub", team_hub.url, "--name", "admin", "--token-stdin")
    run(*words, stdin=admin.key).ok()
    decline_then_agree(
        *("identities", "unlink", ISSUER),
        asked=f"Unlink the identity {user}@example.org of {ISSUER}?",
        kept="Nothing was unlinked",
        state=lambda: len(list_identities(team_hub.hub, OPERATOR, user).identities),
        cwd=tmp_path,
        refusals=FEW,
    )
    key_management.revoke_key(team_hub.hub, OPERATOR, admin.id)
    run("login", "--hub", team_hub.url, "--name", "team", "--token-stdin", stdin=key).ok()
    (found,) = run("keys", "list", "-o", "json").ok().json["keys"]
    decline_then_agree(
        *("keys", "revoke", "current"),
        asked=f"Revoke the key {found['id']} (given), which this command uses?",
        kept="Nothing was revoked",
        state=lambda: team_hub.keys_of(user),
        cwd=tmp_path,
        refusals=FEW,
    )
