"""What a served hub answers to anything that its own description allows, and much that it does not.

No answer may be a bug of the hub, have a status that is not described, or a body of another form.
"""

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from prime_cli.hub.app import OPERATIONS, create_app
from prime_cli.hub.context import open_hub
from prime_cli.hub.routes.router import Operation
from prime_cli.hub.services.access import owner_id
from prime_cli.hub.services.keys import ADMIN, create_key
from prime_cli.hub.urls import API
from tests.helpers.machines import Machines
from tests.hub.pushing import Push, open_app, settings_for

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FUZZING = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a hub with one environment and one evaluation of Ada's."""
    data = tmp_path_factory.mktemp("fuzz")
    client = open_app(data)
    push = Push(client, metadata={"description": "Words", "tags": ["game"]}).run()
    body = {"name": "run", "environments": [{"id": push.environment_id}], "is_public": True}
    client.post("/api/v1/evaluations/", json=body).raise_for_status()
    return data


@pytest.fixture(scope="module")
def there(folder: Path) -> dict[str, list[str]]:
    """What parts of addresses may be to lead somewhere."""
    client = open_app(folder)
    detail = client.get("/api/v1/environmentshub/ada/word/@latest").json()["data"]
    evaluation = client.get("/api/v1/evaluations/").json()["evaluations"][0]["evaluation_id"]
    return {
        "owner": ["ada"],
        "name": ["word"],
        "version": ["latest", "0.1.0", str(detail["content_hash"])],
        "id": [str(detail["id"]), str(evaluation)],
    }


@pytest.fixture(scope="module")
def key(folder: Path) -> str:
    """A key that may do everything of Ada's."""
    hub = open_hub(settings_for(folder))
    with hub.database.write() as connection:
        return create_key(hub, connection, owner_id(hub, connection, "ada"), scope=ADMIN).key


@pytest.fixture(scope="module")
def api(folder: Path, key: str) -> Any:
    """The described API of the served hub."""
    machines = Machines(at_once=True)
    app = create_app(settings_for(folder, embedded=False, accounts=True, providers=(machines,)))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def lead_somewhere(case: "schemathesis.Case[Any]", there: dict[str, list[str]]) -> None:
    """Put what is there into two of three addresses, as what was made up decides."""
    for name, made_up in (case.path_parameters or {}).items():
        choice = len(str(made_up))
        if name in there and choice % 3:
            case.path_parameters[name] = there[name][choice % len(there[name])]


@pytest.mark.sample(10, "operation")
@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}"
)
@pytest.mark.parametrize("with_key", [True, False], ids=["key", "nobody"])
@FUZZING
@given(draw=st.data())
def test_answers_are_as_described(
    api: Any,
    key: str,
    there: dict[str, list[str]],
    operation: Operation,
    with_key: bool,
    draw: st.DataObject,
) -> None:
    case = draw.draw(api[API + operation.path][operation.method].as_strategy())
    lead_somewhere(case, there)
    headers = {"Authorization": f"Bearer {key}"} if with_key else {}
    case.call_and_validate(headers=headers, checks=CHECKS)
