"""What is private, at every address there is: as if it did not exist, for all but its owner.

The addresses are those of the application itself, so a new one is looked at as soon as it is there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import insert

from prime_cli.hub.app import OPERATIONS
from prime_cli.hub.db.tables import sandboxes
from prime_cli.hub.identity.sign_in import Identity
from prime_cli.hub.routes import package_index
from prime_cli.hub.routes.router import Operation
from prime_cli.hub.services.access import owner_id
from prime_cli.hub.services.identities import connect_user_of, list_identities
from prime_cli.hub.services.invitations import invite
from prime_cli.hub.services.key_management import list_keys
from prime_cli.hub.services.publishers import add_publisher
from prime_cli.hub.urls import API
from prime_cli.wire.accounts import IdentityItem
from prime_cli.wire.check_reports import Check, CheckReport
from prime_cli.wire.invitations import NewInvitation
from prime_cli.wire.locks import Lock, Signature, Signatures
from prime_cli.wire.publishers import NewPublisher
from tests.helpers.machines import Machines
from tests.helpers.ssh_keys import line
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data, names, sha256
from tests.hub.services.compute.renting import wish

Values = Mapping[str, str]

NAMING = (
    *("owner", "name", "id", "secret_id", "variable_id", "team_id", "key_id"),
    *("invitation_id", "publisher_id", "identity_id"),
)
"""Parts of paths that name something of somebody's."""

ISSUER = "https://ci.example"
PUBLISHER = NewPublisher("ada", "hidden", ISSUER, {"repository": "ada/hidden"})

OWN = "DELETE /user/keys/{key_id}"
NOT_FOR_TEAMS = ("/evaluations", "/ssh_keys", "/user/identities")
"""A key for one team is refused there whatever it names: it makes no evaluations of its user, and
is not asked about keys that are the user's."""


@dataclass
class World:
    """A hub where Ada has private things, and whoever looks for them.

    `hidden` fills the paths and bodies with what Ada has, each of `absent` with what nobody has.
    """

    accounts_hub: AccountsHub
    hidden: dict[str, str] = field(default_factory=dict)
    callers: dict[str, httpx.Client] = field(default_factory=dict)

    @property
    def absent(self) -> list[Values]:
        other = {name: re.sub(r"[0-9a-f]", "0", value) for name, value in self.hidden.items()}
        same_owner = other | {"owner": "ada", "name": "absent"}
        kept = {name: self.hidden[name] for name in ("version", "package", "filename")}
        return [same_owner | kept, same_owner | kept | {"owner": "zoe", "name": "hidden"}]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    accounts_hub = AccountsHub(
        tmp_path_factory.mktemp("hub"),
        providers=(Machines(),),
        settings={"publisher_issuers": frozenset({ISSUER})},
    )
    ada = accounts_hub.user("ada")
    accounts_hub.user("eve")
    accounts_hub.team("lab", ada="ADMIN")
    made = World(accounts_hub)
    made.callers = {
        "nobody": accounts_hub.client(),
        "stranger": accounts_hub.client(accounts_hub.key("eve", scope="admin")),
        "ada's key for a team": accounts_hub.client(
            accounts_hub.key("ada", owner="lab", scope="admin")
        ),
        "ada": ada,
        "reader": accounts_hub.client(accounts_hub.key("ada", scope="read")),
    }
    accounts_hub.user("zed")
    sandbox = keep_ended_sandbox(accounts_hub)
    (identity,) = link_identity(accounts_hub)
    manager = accounts_hub.caller(accounts_hub.key("ada", scope="admin"))
    den = accounts_hub.team("den")
    invited = invite(accounts_hub.hub, OPERATOR, NewInvitation(team="den"))
    made.hidden = publish(ada) | {
        "sandbox": sandbox,
        "team_id": den,
        "team": "den",
        "user": "zed",
        "key_id": list_keys(accounts_hub.hub, OPERATOR, "zed")[0].id,
        "invitation_id": invited.invitation.id,
        "identity_id": identity.id,
        "publisher_id": add_publisher(accounts_hub.hub, manager, PUBLISHER).id,
    }
    for client in made.callers.values():
        # Its first use is noted.
        client.get(f"{API}/user/whoami")
    return made


def keep_ended_sandbox(accounts_hub: AccountsHub) -> str:
    """One of Ada's that has ended, for which no provider is needed."""
    made = "2026-01-02T03:04:05+00:00"
    row = {"id": "0f5c1d9e-8a7b-4c6d-9e0f-1a2b3c4d5e6f", "tag": "prime-hub-1", "name": "box"}
    row |= {"image": "python:3.11-slim", "provider": "bubblewrap", "request": "{}", "facts": "{}"}
    row |= {"status": "TERMINATED", "created_at": made, "updated_at": made, "holder": ""}
    row |= {"terminated_at": made, "stop_at": made}
    with accounts_hub.hub.database.write() as connection:
        ada = owner_id(accounts_hub.hub, connection, "ada")
        connection.execute(insert(sandboxes).values(**row, user_id=ada, memory_gb=1.0))
    return row["id"]


def link_identity(accounts_hub: AccountsHub) -> Sequence[IdentityItem]:
    signed_in = Identity(ISSUER, "ada-1", "ada", "Ada", "ada@example.org")
    connect_user_of(
        accounts_hub.hub, "127.0.0.1", signed_in, accounts_hub.key("ada", scope="admin")
    )
    return list_identities(accounts_hub.hub, OPERATOR, "ada").identities


def publish(ada: httpx.Client) -> dict[str, str]:
    """Ada's private environment with all that belongs to one; what its addresses are made of."""
    push = Push(ada, "hidden", visibility="PRIVATE").run()
    begun = Push(ada, "hidden", version="0.2.0", code="# more")
    begun.environment_id = push.environment_id
    lock = Lock(1, sha256(push.wheel), "0.1.14", "v0", "3.11", "date", ())
    data(ada.put(f"{HUB}/ada/hidden/@0.1.0/lock", json=msgspec.to_builtins(lock)))
    report = report_of(sha256(push.wheel))
    data(ada.put(f"{HUB}/ada/hidden/@0.1.0/check", json=msgspec.to_builtins(report)))
    signed = signatures_of(sha256(push.wheel))
    data(ada.put(f"{HUB}/ada/hidden/@0.1.0/signatures", json=msgspec.to_builtins(signed)))
    body = {"name": "a run", "environments": [{"id": push.environment_id}], "is_public": True}
    evaluation = ada.post(f"{API}/evaluations/", json=body).raise_for_status().json()
    one = {"name": "ONE", "value": "hunter2"}
    environment = f"{HUB}/{push.environment_id}"
    opening = {"name": "mine", "publicKey": line(1)}
    ssh_key = ada.post(f"{API}/ssh_keys", json=opening).raise_for_status().json()
    storing = {"disk": {"size": 100}, "provider": {"type": "paper"}}
    disk = ada.post(f"{API}/disks", json=storing).raise_for_status().json()
    pod = ada.post(f"{API}/pods", json=wish()).raise_for_status().json()
    return {
        "owner": "ada",
        "name": "hidden",
        "version": "0.1.0",
        "package": "hidden",
        "id": push.environment_id,
        "evaluation": evaluation["evaluation_id"],
        "wheel_id": data(begun.declare_wheel())["wheel_id"],
        "version_id": data(begun.declare_version())["version_id"],
        "secret_id": data(ada.post(f"{environment}/secrets", json=one))["id"],
        "own_secret": data(ada.post(f"{API}/secrets", json=one))["id"],
        "variable_id": data(ada.post(f"{environment}/variables", json=one))["id"],
        "sha256": sha256(push.wheel),
        "filename": push.wheel_filename,
        "pod": pod["id"],
        "disk": disk["id"],
        "ssh_key": ssh_key["id"],
    }


def report_of(wheel_sha256: str) -> CheckReport:
    return CheckReport(
        environment="hidden@0.1.0",
        wheel_sha256=wheel_sha256,
        verdict="pass",
        checks=(Check("build", "pass", "It is there"),),
        date="2026-01-02T03:04:05+00:00",
        prime="0.1.0",
    )


def signatures_of(wheel_sha256: str) -> Signatures:
    return Signatures(wheel_sha256, (Signature("pep740", "{}"),))


def body_of(operation: Operation, values: Values) -> dict[str, Any]:
    """A good body, about `values` where the body names anything."""
    artifact = {
        "content_hash": "0" * 64,
        "filename": f"{values['name']}-0.3.0-py3-none-any.whl",
        "sha256": "0" * 64,
        "semantic_version": "0.3.0",
    }
    lock = Lock(1, values["sha256"], "0.1.14", "v0", "3.11", "date", ())
    bodies: dict[str, dict[str, Any]] = {
        "ArtifactRequest": artifact,
        "EvaluationRequest": {"name": "b", "environments": [{"id": values["id"]}]},
        "DiskChange": {"name": "other"},
        "KeyChange": {"isPrimary": True},
        "CheckReport": msgspec.to_builtins(report_of(values["sha256"])),
        "Lock": msgspec.to_builtins(lock),
        "LookupRequest": {"id": values["id"]},
        "NewSecret": {"name": "TWO", "value": "x"},
        "NewVariable": {"name": "TWO", "value": "x"},
        "SampleBatch": {"samples": [{"example_id": 1, "reward": 1.0}]},
        "SecretChange": {"value": "y"},
        "Signatures": msgspec.to_builtins(signatures_of(values["sha256"])),
        "VariableChange": {"value": "y"},
    }
    return bodies.get(getattr(operation.takes, "__name__", ""), {})


def path_of(path: str, values: Values) -> str:
    prefix = API if path.startswith(API) else ""
    path = path.removeprefix(API)
    if path.startswith(("/evaluations/", "/hosted-evaluations/")):
        values = {**values, "id": values["evaluation"]}
    for beginning, name in (("/pods/", "pod"), ("/disks/", "disk"), ("/sandbox/", "sandbox")):
        if path.startswith(beginning):
            values = {**values, "id": values[name]}
    if path.startswith("/ssh_keys/"):
        values = {**values, "key_id": values["ssh_key"]}
    if path.startswith("/secrets/") or "/link/" in path:
        values = {**values, "secret_id": values["own_secret"]}
    return prefix + re.sub(r"\{(\w+)\}", lambda part: values[part[1]], path)


def names_something(operation: Operation) -> bool:
    parts = re.findall(r"\{(\w+)\}", operation.path)
    takes = getattr(operation.takes, "__name__", "")
    return bool({*parts} & {*NAMING}) or takes in ("LookupRequest", "EvaluationRequest")


def ask(
    world: World,
    client: httpx.Client,
    method: str,
    path: str,
    values: Values,
    operation: Operation | None = None,
) -> tuple[int, str, list[str], int]:
    """Status, body without names, names of headers, and how many statements it took."""
    body = body_of(operation, values) if operation else None
    with world.accounts_hub.statements() as seen:
        answer = client.request(method, path_of(path, values), json=body)
    text = answer.text
    for value in sorted({*values.values(), "ada"}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){value}(?!\w)", "…", text)
    return answer.status_code, text, sorted(answer.headers), len(seen)


def id_of(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


@pytest.mark.parametrize("who", ["nobody", "stranger", "ada's key for a team"])
@pytest.mark.sample(25, "operation")
@pytest.mark.parametrize("operation", [*filter(names_something, OPERATIONS)], ids=id_of)
def test_private_is_answered_as_what_does_not_exist(
    world: World, operation: Operation, who: str
) -> None:
    client = world.callers[who]
    limited = who != "stranger" and operation.path.startswith(NOT_FOR_TEAMS)
    expected = (404, 403) if limited else (404,)
    if operation.needs_key and who == "nobody":
        expected = (401,)
    for absent in world.absent:
        hidden_answer, absent_answer = (
            ask(world, client, operation.method, API + operation.path, values, operation)
            for values in (world.hidden, absent)
        )
        assert hidden_answer == absent_answer
        assert hidden_answer[0] in expected, hidden_answer


ROUTES = [route.path for route in package_index.router.pages]


@pytest.mark.parametrize("who", ["nobody", "stranger", "ada's key for a team"])
@pytest.mark.parametrize("path", ROUTES)
def test_private_files_and_index_pages_do_not_exist(world: World, path: str, who: str) -> None:
    client = world.callers[who]
    _, elsewhere = world.absent
    hidden = ask(world, client, "GET", path + "/", world.hidden)
    assert hidden == ask(world, client, "GET", path + "/", elsewhere)
    assert hidden[0] == 404


@pytest.mark.parametrize("path", ROUTES)
def test_owner_reads_what_is_private_everywhere(world: World, path: str) -> None:
    for who in ("ada", "reader"):
        answer = world.callers[who].get(path_of(path, world.hidden) + "/")
        assert answer.status_code in (200, 308), (who, path)


@pytest.mark.sample(25, "operation")
@pytest.mark.parametrize(
    "operation",
    [o for o in OPERATIONS if o.needs_key],
    ids=id_of,
)
def test_no_key_is_requested(world: World, operation: Operation) -> None:
    for client in (world.accounts_hub.client(), world.accounts_hub.client("prime_sk_unknown")):
        path = path_of(API + operation.path, world.hidden)
        answer = client.request(operation.method, path, content=b"no JSON")
        assert (answer.status_code, answer.json()["code"]) == (401, "not_logged_in")


@pytest.mark.sample(25, "operation")
@pytest.mark.parametrize(
    "operation",
    [
        o
        for o in OPERATIONS
        if names_something(o)
        and o.method != "GET"
        and o.needs_key
        and id_of(o) != OWN
        and "/star" not in o.path
        and not o.path.startswith("/teams/")  # Ada is not in it
    ],
    ids=id_of,
)
def test_key_that_reads_writes_nothing(world: World, operation: Operation) -> None:
    body = body_of(operation, world.hidden)
    path = path_of(API + operation.path, world.hidden)
    answer = world.callers["reader"].request(operation.method, path, json=body)
    # What only managers see does not exist for a key that manages nothing.
    unseen = operation.path.startswith(("/invitations/", "/publishers/"))
    assert answer.status_code == (404 if unseen else 403), answer.text
    assert names(world.callers["ada"]) == ["hidden"]


@pytest.mark.parametrize("who", ["nobody", "stranger", "ada's key for a team"])
def test_private_is_in_no_list_and_no_count(world: World, who: str) -> None:
    client = world.callers[who]
    if who != "nobody":
        for path in ("pods", "pods/history", "disks", f"pods/status?pod_ids={world.hidden['pod']}"):
            assert client.get(f"{API}/{path}").json()["data"] == [], path
    for query in (
        "",
        "search=hidden",
        "owner=ada",
        "visibility=PRIVATE",
        "tags=x",
        "mine_only=true",
    ):
        page = client.get(f"{HUB}/?{query}").json()
        assert (page["data"], page["total_count"]) == ([], 0), query
    if who != "nobody":
        listed = client.get(f"{API}/evaluations/").json()
        assert listed["evaluations"] == []
        assert listed["total"] == 0
