"""os.environ in a worker: as it ever was, and it says what was asked for and kept back."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import prime_cli.runtime.worker
from prime_cli.runtime.import_check import try_import
from prime_cli.runtime.protocol import AskedVariable
from prime_cli.runtime.variables import share
from tests.helpers.environments import ECHO, interpreter_with
from tests.helpers.scripted_model import ScriptedModel, status
from tests.runtime.worker.runs import run_worker, small_spec

FOLDER = str(Path(prime_cli.runtime.worker.__file__).parent)
START = f"""
import sys
sys.path.insert(0, {FOLDER!r})
import withheld_variables
asked = []
withheld_variables.watch(
    ["SOME_KEY"], ["SOME_MODE"], ["__main__"], lambda name, by: asked.append([name, by])
)
import json, os
"""
"""What a worker does before it imports anything of the environment."""


def told_by(code: str, folder: Path | None = None) -> Any:
    """What `code` leaves in `said`, and what was noted meanwhile."""
    script = f"{START}\n{code}\nprint(json.dumps([said, asked]))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": os.environ["PATH"], "HERE": "1"},
        cwd=folder,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "look",
    [
        "os.environ.get('SOME_KEY')",
        "os.getenv('SOME_KEY')",
        "os.getenvb(b'SOME_KEY')",
        "'SOME_KEY' in os.environ",
        "os.environ.pop('SOME_KEY', None)",
        "os.path.expandvars('$SOME_KEY')",
        "holder.get('SOME_KEY')",
    ],
)
def test_each_way_to_look_a_name_up_is_noted_once(look: str) -> None:
    _, asked = told_by(f"from os import environ as holder\n{look}\n{look}\nsaid = 0")
    assert asked == [["SOME_KEY", "__main__"]]


@pytest.mark.parametrize(
    "look",
    [
        "os.environ.get('HERE')",
        "os.environ.get('NOT_SET_BY_THE_USER')",
        "dict(os.environ)",
        "os.environ.copy()",
        "list(os.environ)",
        "os.environ['SOME_KEY'] = 'x'; os.environ['SOME_KEY']",
    ],
)
def test_what_is_there_or_never_was_is_not_noted(look: str) -> None:
    _, asked = told_by(f"{look}\nsaid = 0")
    assert asked == []


def test_libraries_are_heard_where_they_ask_for_secrets_alone(tmp_path: Path) -> None:
    source = "import os\nos.getenv('SOME_MODE')\nos.getenv('SOME_KEY')\n"
    (tmp_path / "library.py").write_text(source, encoding="utf-8")
    _, asked = told_by("sys.path.insert(0, '')\nimport library\nsaid = 0", tmp_path)
    assert asked == [["SOME_KEY", "library"]]
    _, asked = told_by("os.getenv('SOME_MODE')\nsaid = 0")
    assert asked == [["SOME_MODE", "__main__"]]


def test_a_key_that_is_not_set_raises_as_it_ever_did() -> None:
    code = "try:\n    os.environ['SOME_KEY']\nexcept KeyError as error:\n    said = error.args"
    said, _ = told_by(code)
    assert said == ["SOME_KEY"]


def test_a_child_sees_what_is_set_and_nothing_of_the_watch() -> None:
    said, asked = told_by(
        "import subprocess\nos.environ['ADDED'] = 'x'\n"
        "code = 'import os; print(os.environ[\"ADDED\"], type(os.environ).__name__)'\n"
        "run = lambda **more: subprocess.run([sys.executable, '-c', code], capture_output=True, "
        "text=True, **more).stdout.split()\n"
        "said = [run(), run(env=os.environ), run(env={**os.environ})]"
    )
    assert said == [["x", "_Environ"]] * 3
    assert asked == []


def test_a_child_that_is_forked_writes_nothing_on_its_parents_line() -> None:
    said, asked = told_by(
        "if os.fork() == 0:\n    os.getenv('SOME_KEY')\n    os._exit(len(asked))\n"
        "said = os.waitpid(-1, 0)[1]"
    )
    assert said == 0
    assert asked == []


def test_it_is_the_mapping_that_it_was() -> None:
    said, _ = told_by(
        "import copy\n"
        "said = [isinstance(os.environ, os._Environ), os.environ == dict(os.environ),\n"
        "        os.environb[b'HERE'].decode(), type(os.environ | {}).__name__,\n"
        "        type(os.environ.copy()).__name__, copy.copy(os.environ)['HERE'],\n"
        "        os.environ.setdefault('HERE', '2'), 'HERE' in repr(os.environ)]"
    )
    assert said == [True, True, "1", "dict", "dict", "1", "1", True]


def test_a_worker_says_what_the_environment_asks_for_from_its_first_import_on(
    model: ScriptedModel, log: Path, tmp_path: Path
) -> None:
    source = "import os\nos.getenv('AT_IMPORT')\nfrom small import load_environment\n"
    (tmp_path / "asking.py").write_text(source, encoding="utf-8")
    spec = small_spec(model, "asking")
    spec.pythonpath.append(str(tmp_path))
    spec.withheld.append("AT_IMPORT")
    said = run_worker(spec, log)
    assert said.ended.ok
    assert said.variables == [AskedVariable(name="AT_IMPORT", by="asking")]


REFUSED = """
import os
import httpx
from small import load_environment as load

def load_environment(elsewhere):
    environment = load()
    score = environment.rubric._call

    async def ask_first(*call):
        headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        async with httpx.AsyncClient() as client:
            await client.post(f"{elsewhere}/chat/completions", json={}, headers=headers)
        return await score(*call)

    environment.rubric._call = ask_first
    return environment
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [(401, [AskedVariable(name="OPENAI_API_KEY", host="127.0.0.1")]), (429, [])],
)
def test_a_host_that_refuses_the_gateways_token_is_named_once(
    model: ScriptedModel, log: Path, tmp_path: Path, code: int, told: list[AskedVariable]
) -> None:
    (tmp_path / "judging.py").write_text(REFUSED, encoding="utf-8")
    with ScriptedModel(lambda _: status(code)) as elsewhere:
        spec = small_spec(model, "judging", args={"elsewhere": elsewhere.url})
        spec.pythonpath.append(str(tmp_path))
        said = run_worker(spec, log)
    assert said.ended.ok
    assert elsewhere.calls[0].headers["authorization"] == "Bearer run-token"
    assert said.variables == told


@pytest.mark.network
def test_the_first_import_is_given_what_was_allowed_and_says_what_was_not(tmp_path: Path) -> None:
    interpreter = interpreter_with(tmp_path, f"import os\nos.environ['A_KEY']\n{ECHO}")
    base = {"PATH": os.environ["PATH"], "A_KEY": "planted"}
    refused = try_import(interpreter.python, "tiny_env", variables=share(base))
    assert not refused.imports
    assert refused.asked == ("A_KEY",)
    allowed = try_import(
        interpreter.python, "tiny_env", variables=share(base, {"A_KEY": "planted"})
    )
    assert allowed.imports
    assert allowed.asked == ()
