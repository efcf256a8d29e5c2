from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.execution.worker_errors import failure_of
from prime_cli.evals.execution.worker_spec import passed_keys, worker_variables
from prime_cli.evals.planning.source_scan import declared_keys
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.providers import Secret
from prime_cli.runs.known_secrets import secrets_of
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.protocol import End, EndError
from prime_cli.runtime.variables import share
from tests.helpers.wild import write_wheel
from tests.runs.saving import PLAN

ENVIRON = {
    "PATH": "/bin",
    "GRADER_MODE": "strict",
    "OPENAI_API_KEY": "sk-the-users",
    "PRIME_API_KEY": "pk-the-users",
    "JUDGE_KEY": "jk-the-users",
    "AWS_SECRET_ACCESS_KEY": "never-passed-on-but-known",
}


def naming(*names: str) -> object:
    return msgspec.structs.replace(PLAN, env_vars=names)


def test_the_worker_sees_ordinary_variables_and_the_gateway_and_no_key() -> None:
    seen = worker_variables(
        share(ENVIRON), base_url="http://127.0.0.1:1/v1", token="tok", python=Path("/v/bin/python")
    )
    assert seen["OPENAI_API_KEY"] == "tok"
    assert seen["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert seen["PRIME_TRACES_OPT_OUT"] == "1"
    assert seen["GRADER_MODE"] == "strict"
    assert not {"PRIME_API_KEY", "JUDGE_KEY", "AWS_SECRET_ACCESS_KEY"} & set(seen)


def test_a_named_variable_is_passed_and_said() -> None:
    progress = Silent()
    passed = passed_keys(naming("JUDGE_KEY"), (), ENVIRON, progress)  # type: ignore[arg-type]
    assert passed == {"JUDGE_KEY": "jk-the-users"}
    assert progress.said == ["The environment can read JUDGE_KEY"]


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "PRIME_API_KEY"])
def test_the_run_s_own_keys_are_passed_when_named_and_not_when_declared(name: str) -> None:
    assert passed_keys(PLAN, (name,), ENVIRON, Silent()) == {}
    passed = passed_keys(naming(name), (name,), ENVIRON, Silent())  # type: ignore[arg-type]
    assert passed == {name: ENVIRON[name]}


def test_an_allowed_key_is_the_users_own_and_default_clients_still_call_the_gateway() -> None:
    variables = share(ENVIRON, {"OPENAI_API_KEY": "sk-the-users"})
    seen = worker_variables(variables, base_url="http://g/v1", token="tok", python=Path("/v/bin/p"))
    assert seen["OPENAI_API_KEY"] == "sk-the-users"
    assert seen["OPENAI_BASE_URL"] == "http://g/v1"


def test_a_named_variable_that_is_not_set_is_refused() -> None:
    with pytest.raises(UsageError, match="`--env-var NOPE`"):
        passed_keys(naming("NOPE"), (), ENVIRON, Silent())  # type: ignore[arg-type]


def test_declared_keys_are_passed_where_they_are_set() -> None:
    progress = Silent()
    passed = passed_keys(PLAN, ("JUDGE_KEY", "UNSET"), ENVIRON, progress)
    assert passed == {"JUDGE_KEY": "jk-the-users"}
    assert progress.said == ["The environment asks for JUDGE_KEY and can read it"]


def test_declarations_are_read_from_the_source_and_nothing_else_is(tmp_path: Path) -> None:
    source = (
        "import verifiers as vf\nfrom verifiers import ensure_keys\n"
        "def load_environment():\n"
        "    vf.ensure_keys(['EXA_KEY', 'JUDGE_KEY'])\n    ensure_keys(keys)\n"
        "    other(['NOT_THIS'])\n"
    )
    wheel = write_wheel(tmp_path, {"tiny_env.py": source, "tiny_env_b.py": "ensure_keys(("})
    assert declared_keys(wheel) == ("EXA_KEY", "JUDGE_KEY")


def test_every_secret_that_could_be_written_is_known() -> None:
    endpoint = Endpoint("m", "http://x/v1", Secret("sk-run"), {"Authorization": "Bearer abc"})
    found = secrets_of(endpoint, ENVIRON, {"JUDGE_KEY": "jk-the-users"})
    assert set(found.values()) == {
        "jk-the-users",
        "pk-the-users",
        "sk-the-users",
        "sk-run",
        "never-passed-on-but-known",
        "Bearer abc",
        "abc",
    }


def test_a_secret_that_holds_another_is_replaced_whole() -> None:
    scrub = Scrubber({"A": "abcdef", "B": "abcdef-long"})
    assert scrub(b"x abcdef-long abcdef y") == b"x [B] [A] y"


@pytest.mark.parametrize("value", ["", "x", "EMPTY"])
def test_placeholders_are_not_treated_as_secrets(value: str) -> None:
    assert Scrubber({"K": value})(b"x EMPTY") == b"x EMPTY"


def test_a_good_end_and_an_asked_for_one_are_no_failures() -> None:
    assert failure_of(End(ok=True), PLAN, Scrubber({})) is None
    assert failure_of(End(ok=False, stage="interrupted"), PLAN, Scrubber({})) is None


def test_secrets_in_a_traceback_are_not_shown() -> None:
    error = EndError(type="E", message="key sk-secret-x", traceback="…\nsk-secret-x")
    end = End(ok=False, stage="load", error=error)
    failure = failure_of(end, PLAN, Scrubber({"K": "sk-secret-x"}))
    assert failure is not None
    assert "sk-secret" not in failure.message + (failure.detail or "")
