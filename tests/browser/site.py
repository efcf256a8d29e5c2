"""A served hub with something to see on every page, as two users and nobody."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

from prime_cli.hub.context import Caller, Hub, open_hub
from prime_cli.hub.services import key_management, users
from prime_cli.hub.settings import HubSettings
from prime_cli.wire.locks import Signatures
from tests.helpers.serving import ServedHub, serve
from tests.hub.evaluating import finished
from tests.hub.pushing import HUB, Push, make_sources, sha256
from tests.hub.services.test_version_documents import ATTESTATION, SSH, lock_of, report_of

README = """# Word

Guess a **word** in six tries. See [the rules](docs/rules.md) and
[verifiers](https://docs.primeintellect.ai/verifiers).

## Rewards

| reward | weight | when |
|---|--:|---|
| `right` | 1.0 | the word was found |
| `short` | 0.2 | fewer tries than half |

```python
import verifiers as vf

env = vf.load_environment("word", num_examples=100)
```

1. Ask for a word.
2. Say how near it is.
"""
CODE = '''"""Guess a word."""

import verifiers as vf


def right(completion, answer, **kwargs) -> float:
    """1 when the answer is in the last message."""
    return float(answer in completion[-1]["content"])


def load_environment(num_examples: int = 100, max_turns: int = 6) -> vf.Environment:
    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[right]))
'''


BEFORE = CODE.replace("answer in completion[-1]", "answer == completion[-1]")
"""The reward of the version before."""


@dataclass(frozen=True)
class Site:
    """`evaluations` are of ada/word, by the name of their model; `secret` is a private one.

    `long` has one sample, with more turns, text and tokens than a page has room for.
    """

    served: ServedHub
    hub: Hub
    keys: dict[str, str]
    evaluations: dict[str, str]
    secret: str
    long: str

    @property
    def url(self) -> str:
        return self.served.url

    def client(self, user: str = "") -> httpx.Client:
        """A client as one of the users, or as nobody."""
        return self.served.client(self.keys.get(user, ""))


@contextmanager
def serve_site(folder: Path) -> Iterator[Site]:
    """Serve a new hub below `folder`, with users ada and bob, until the block ends."""
    data = folder / "hub"
    env = {"HOME": str(folder), "PRIME_HOME": str(folder / "home"), "PRIME_UPSTREAM": "none"}
    with serve(data, env=env) as served:
        hub = open_hub(HubSettings(data=data, owner="", embedded=False, accounts=True))
        keys = {user: _add_user(hub, user) for user in ("ada", "bob")}
        with served.client(keys["ada"]) as ada:
            yield Site(served, hub, keys, *_fill(ada))


def _add_user(hub: Hub, slug: str) -> str:
    users.create_user(hub, Caller.operator(), slug)
    return key_management.issue_key(hub, Caller.operator(), slug, name="first", scope="admin").key


def _fill(ada: httpx.Client) -> tuple[dict[str, str], str, str]:
    tags = ["game", "multi-turn"]
    publish(ada, "word", "0.1.0", tags=tags, readme=README, code=BEFORE)
    _document(ada, publish(ada, "word", "0.2.0", tags=tags, readme=README))
    publish(ada, "sums", "1.0.0", tags=["math"], description="Add two numbers")
    publish(ada, "hidden", "0.1.0", visibility="PRIVATE", description="Nobody else's")
    found = {
        model: finished(
            ada, samples(right), name=f"word by {model}", model_name=model, is_public=True
        )
        for model, right in (("small-1b", 3), ("large-70b", 7))
    }
    secret = finished(
        ada, samples(5), name="of nobody else", environments=[{"id": "ada/hidden"}],
        model_name="small-1b", is_public=False,
    )  # fmt: skip
    long = finished(
        ada, [long_sample()], name="a long one", environments=[{"id": "ada/sums"}],
        model_name="large-70b", is_public=True,
    )  # fmt: skip
    return found, secret, long


def _document(client: httpx.Client, push: Push) -> None:
    """Put a lock, a check report and signatures beside a version."""
    documents = {
        "lock": lock_of(push.wheel),
        "check": report_of(push.wheel),
        "signatures": Signatures(sha256(push.wheel), (SSH, ATTESTATION)),
    }
    for name, document in documents.items():
        address = f"{HUB}/ada/{push.name}/@{push.version}/{name}"
        client.put(address, json=msgspec.to_builtins(document)).raise_for_status()


def publish(
    client: httpx.Client,
    name: str,
    version: str,
    *,
    readme: str = "# Tiny\n",
    description: str = "Guess a word in six tries",
    tags: list[str] | None = None,
    files: dict[str, str] | None = None,
    visibility: str = "PUBLIC",
    code: str = CODE,
) -> Push:
    """Push a version of an environment of the client's user."""
    code += f"# {version}\n"
    metadata = {"description": description, "tags": tags or []}
    push = Push(client, name, version, code, visibility=visibility, metadata=metadata)
    push.sources = make_sources(
        {
            "README.md": readme,
            "pyproject.toml": f"[project]\nname = '{name}'\nversion = '{version}'\n",
            f"{name.replace('-', '_')}.py": code,
            "docs/rules.md": "# Rules\n\nSix tries.\n",
            **(files or {}),
        }
    )
    return push.run()


def samples(right: int) -> list[dict[str, Any]]:
    """Five examples with two rollouts each, of which `right` are right and the last is an error."""
    return [_sample(n // 2, n % 2, n < right, errored=n == 9) for n in range(10)]


def long_sample() -> dict[str, Any]:
    """A rollout of 120 turns, whose first has a text and tokens that a page cannot have whole."""
    tokens = [{"token": f" word{n}", "logprob": -n / 500} for n in range(2000)]
    first = {"role": "assistant", "content": "word " * 8000, "logprobs": {"content": tokens}}
    said = [{"role": "user" if n % 2 else "assistant", "content": f"turn {n}"} for n in range(118)]
    return {
        "example_id": 0,
        "rollout": 0,
        "prompt": [{"role": "user", "content": "Talk for long."}],
        "completion": [first, *said],
        "reward": 1.0,
    }


def _sample(example: int, rollout: int, right: bool, *, errored: bool) -> dict[str, Any]:
    failed = {"class": "infra", "type": "APITimeoutError", "message": "Request timed out"}
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "guess", "arguments": '{"word": "crane", "try": 1}'},
    }
    return {
        "example_id": example,
        "rollout": rollout,
        "prompt": [
            {"role": "system", "content": "You guess words of five letters."},
            {"role": "user", "content": f"Word number {example}: what is it?"},
        ],
        "completion": [
            {"role": "assistant", "content": "I try crane.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": '{"green": 2, "yellow": 1}'},
            {"role": "assistant", "content": "crate" if right else "slate"},
        ],
        "answer": "crate",
        "reward": None if errored else float(right),
        "metrics": {"tries": 2.0 + rollout, "short": 0.2 * right},
        "error": failed if errored else None,
        "usage": {"prompt_tokens": 40 + example, "completion_tokens": 12},
    }
