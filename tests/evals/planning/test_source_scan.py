import zipfile
from pathlib import Path

import msgspec
import pytest

from prime_cli.core.progress import Silent
from prime_cli.evals.planning.source_scan import (
    SandboxUse,
    clients_in,
    sandbox_use,
    warn_of_uncounted,
)
from prime_cli.models.prices import Budget
from tests.helpers.live_run import PLAN
from tests.helpers.wheelhouse import package


def names_in(source: str) -> list[str]:
    return [each.name for each in clients_in("judge.py", source)]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (
            "from openai import AsyncOpenAI\nAsyncOpenAI(base_url='https://a.example/v1')",
            "AsyncOpenAI",
        ),
        ("import openai\nopenai.OpenAI(base_url=URLS['judge'], api_key=key)", "OpenAI"),
        ("import openai as oa\ndef f(url):\n    return oa.OpenAI(base_url=url)", "OpenAI"),
        ("from openai import AsyncAzureOpenAI as Azure\nAzure()", "AsyncAzureOpenAI"),
        ("def judge():\n    import anthropic\n    anthropic.AsyncAnthropic()", "AsyncAnthropic"),
        ("from litellm import acompletion\nawait_ = acompletion(model='x')", "acompletion"),
        ("from google import genai\nclient = genai.Client(api_key='k')", "Client"),
        (
            "import httpx\nhttpx.post('https://api.example.com/v1/chat/completions')",
            "https://api.example.com/v1/chat/completions",
        ),
    ],
)
def test_a_client_of_its_own_is_found_in_the_source(source: str, name: str) -> None:
    assert names_in(source) == [name]


@pytest.mark.parametrize(
    "source",
    [
        "from openai import AsyncOpenAI\nAsyncOpenAI()",
        "from openai import OpenAI\nOpenAI(api_key=os.environ['OPENAI_API_KEY'])",
        "from openai import OpenAI\nOpenAI(base_url=None)",
        "from openai import OpenAI\nOpenAI(base_url=os.environ['OPENAI_BASE_URL'])",
        "class Anthropic: ...\nAnthropic()",
        "'''See https://api.example.com/v1/chat/completions\nfor more'''",
        "URL = 'https://huggingface.co/datasets/x'",
        "not python",
        "import openai\n" + "(" * 10_000,
    ],
)
def test_what_the_gateway_counts_is_not_named(source: str) -> None:
    assert names_in(source) == []


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """One with a judge of its own."""
    path = tmp_path / "judged-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("judged.py", "import anthropic\nJUDGE = anthropic.Anthropic()\n")
        archive.writestr("judged-1.0.dist-info/METADATA", "Name: judged\nVersion: 1.0\n")
    return path


def warned(wheel: Path, budget: Budget | None = None, **plan: object) -> list[str]:
    progress = Silent()
    warn_of_uncounted(msgspec.structs.replace(PLAN, **plan), wheel, budget, progress)
    return progress.warned


def test_a_cap_is_reported_not_to_cover_them(wheel: Path) -> None:
    (said,) = warned(wheel, max_cost=1.0)
    assert said.endswith("whose calls no cap counts: `Anthropic` in judged.py:2")
    assert warned(wheel, token_budget=1000) == [said]
    assert warned(wheel, Budget(max_cost=1.0)) == [said]


def test_without_a_cap_or_own_clients_nothing_is_reported(wheel: Path) -> None:
    assert warned(wheel) == []
    assert warned(wheel, max_cost=1.0, only_gateway=True) == []
    assert warned(wheel, max_cost=1.0, sandbox=True) == []


SANDBOX = "import verifiers as vf\n\n\ndef load_environment():\n    return {}\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("vf.SingleTurnEnv()", None),
        ("vf.PythonEnv()", SandboxUse(has_default=True)),
        ("vf.SandboxEnv(docker_image='gcc:13')", SandboxUse(("gcc:13",))),
        ("vf.SandboxEnv(docker_image=image)", SandboxUse(has_default=True)),
        (
            "vf.CliAgentEnv(docker_image='a:1')",
            SandboxUse(("a:1",), needs_tunnel=("CliAgentEnv",)),
        ),
        ("print('PythonEnv', docker_image='x')", None),
    ],
)
def test_what_code_shows_of_its_sandboxes_is_read(
    tmp_path: Path, source: str, expected: SandboxUse | None
) -> None:
    assert sandbox_use(package(tmp_path, SANDBOX.format(source)).path) == expected


def test_an_image_of_a_request_is_read(tmp_path: Path) -> None:
    source = (
        "from prime_sandboxes import CreateSandboxRequest\n"
        "ASK = CreateSandboxRequest(name='x', docker_image='gcc:13')\n"
    )
    assert sandbox_use(package(tmp_path, source).path) == SandboxUse(("gcc:13",))
