"""Pages of environments and evaluations are bounded, however much people put into them."""

import io
import zipfile
from typing import Any

import httpx
import msgspec
import pytest

from prime_cli.wire.check_reports import (
    Attack,
    AttackReport,
    Check,
    CheckReport,
    SourceFinding,
)
from prime_cli.wire.locks import Lock, LockedPackage
from tests.hub.evaluating import finished
from tests.hub.pushing import HUB, Push, make_sources, open_app, sha256
from tests.pages.measuring import QUOTES, require_bounded

PAGE = "/dashboard/environments/ada/word"
# --- An environment ---

_ARGUMENTS = ", ".join(f"argument_{n} = '{QUOTES * 60}'" for n in range(300))
_READS = "\n".join(
    f'V{n} = os.environ["VARIABLE_{n}"]; H{n} = "https://host-{n}.example.org/"' for n in range(500)
)
CODE = f"import os\n{_READS}\ndef load_environment({_ARGUMENTS}): ...\n"
LINES = "".join(f"x{n} = '{QUOTES * 40}'  # & <b>\n" for n in range(2_500))
FILES = {
    "README.md": "\n".join(f"## Part {n}\n\n{'<&> `code` [a](b.md) ' * 10}" for n in range(400)),
    "long.py": LINES,
    "one_line.json": f"[{'1, ' * 80_000}1]",
    "table.txt": f"{'&' * 250_000}\n",
    **{f"folder/{'&' * 200}{n}.txt": "" for n in range(300)},
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> httpx.Client:
    """A hub with an environment that has the most of everything, and many versions."""
    client = open_app(tmp_path_factory.mktemp("hub") / "data")
    metadata = {
        "description": QUOTES * 20_000,
        "tags": [f"{QUOTES * 100}{n}" for n in range(1_000)],
        "python_requires": ">=3.8" + ",<4" * 2_000,
        "requires_dist": [f"package-{n}; {QUOTES * 200}" for n in range(300)],
    }
    for number in range(30):
        version = f"0.0.{number}{'0' * 100}"
        Push(client, version=version, code=f"x = {number}").run()
        yanked = client.post(f"{HUB}/ada/word/@{version}/yank", json={"reason": QUOTES * 1000})
        yanked.raise_for_status()
    for version in ("0.1.0", "0.2.0"):
        push = Push(client, version=version, code=CODE, metadata=metadata)
        push.sources = make_sources({"pyproject.toml": "[project]\n", "word.py": CODE, **FILES})
        push.run()
    document(client, push.wheel)
    for version in ("0.1.0", "0.2.0"):
        push = Push(client, "words", version, code=f"x = {version[2]}\n")
        push.wheel = with_files(push.wheel, changed(version))
        push.run()
    return client


def with_files(wheel: bytes, files: dict[str, str]) -> bytes:
    """The wheel with other files too."""
    buffer = io.BytesIO(wheel)
    with zipfile.ZipFile(buffer, "a") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def changed(version: str) -> dict[str, str]:
    """Files of which every line differs between versions, and as many as a comparison takes."""
    data = {f"data/{QUOTES * 150}{n}.txt": f"{version}\n" * 60 for n in range(400)}
    return data | {"short.txt": "".join(f"{version[2]}{n % 7}\n" for n in range(600))}


def document(client: httpx.Client, wheel: bytes) -> None:
    """Put a lock and a check report with as much as they may have beside the newest version."""
    packages = [
        LockedPackage(f"package-{n}", "1.0", marker=QUOTES * 300, sha256=("0" * 64,))
        for n in range(100)
    ]
    lock = Lock(1, sha256(wheel), "0" * 5_000, "v0" * 2_000, "3.11" * 2_000, "date", (*packages,))
    names = [f"check-{chr(97 + n % 26) * (1 + n // 26)}" for n in range(64)]
    checks = tuple(Check(name, "fail", "&" * 400) for name in names)
    attacks = tuple(
        Attack(name=name, outcome="leaks", sentence="&" * 400, file="<" * 200, line=1)
        for name in names[:16]
    )
    found = SourceFinding("eval", "<" * 200, 1, "&" * 400)
    attack = AttackReport(
        verdict="leaks", reason="&" * 400, examples=1, calls=1, attacks=attacks,
        sources=(found,) * 20,
    )  # fmt: skip
    report = CheckReport(
        environment="ada/word@0.2.0", wheel_sha256=sha256(wheel), verdict="fail", checks=checks,
        date="2026-01-01T00:00:00Z", prime="1", attack=attack,
    )  # fmt: skip
    for name, body in (("lock", lock), ("check", report)):
        address = f"{HUB}/ada/word/@0.2.0/{name}"
        client.put(address, json=msgspec.to_builtins(body)).raise_for_status()


@pytest.mark.sample(4, "tab")
@pytest.mark.parametrize(
    "tab",
    [
        "",
        "/versions",
        "s/versions?from=0.1.0&to=0.2.0",
        "/details",
        "/evaluations",
        "/@0.2.0/files",
        "/@0.2.0/files/folder",
        "/@0.2.0/files/long.py",
        "/@0.2.0/files/one_line.json",
        "/@0.2.0/files/table.txt",
    ],
)
def test_pages_of_an_environment_are_bounded(hub: httpx.Client, tab: str) -> None:
    require_bounded(hub, PAGE + tab)


# --- Evaluations ---

_LONG = {
    "name": QUOTES * 500,
    "model_name": f"{QUOTES * 490}",
    "dataset": QUOTES * 500,
    "framework": QUOTES * 500,
    "task_type": QUOTES * 500,
    "description": QUOTES * 100_000,
    "tags": [QUOTES * 500] * 100,
    "is_public": True,
}


def rollout(number: int) -> dict[str, Any]:
    """One of 200 rollouts of a first example, or of an example of its own, with many metrics."""
    error = {"class": f"{QUOTES * 90}{number % 60}", "type": QUOTES * 100, "message": "&" * 2_000}
    return {
        "example_id": QUOTES * 200 if number < 150 else f"{QUOTES * 200}{number}",
        "rollout": number,
        "reward": number / 7,
        "error": error if number < 200 else None,
        "metrics": {f"{QUOTES * 190}{n}": number / (n + 1) for n in range(100)},
    }


@pytest.fixture(scope="module")
def evaluations(hub: httpx.Client) -> list[str]:
    """The ids of an evaluation with the most of everything, and of others on its leaderboard."""
    metadata = {f"{QUOTES * 200}{n}": QUOTES * 400 for n in range(500)} | {
        "prime": {"cost": 1.5, "usage": {"input": 1, "output": 1}}
    }
    about = _LONG | {"environments": [{"id": "ada/words"}], "metadata": metadata}
    full = finished(hub, [rollout(n) for n in range(400)], **about)
    others = []
    for number in range(30):
        some = [{"example_id": 0, "rollout": 0, "reward": number / 7}]
        one = about | {
            "model_name": f"{QUOTES * 490}{number}",
            "metadata": {"prime": {"cost": number}},
        }
        others.append(finished(hub, some, **one))
    return [full, *others]


def test_the_page_of_an_evaluation_is_bounded(hub: httpx.Client, evaluations: list[str]) -> None:
    require_bounded(hub, f"/dashboard/evaluations/{evaluations[0]}")


def test_a_leaderboard_is_bounded(hub: httpx.Client, evaluations: list[str]) -> None:
    require_bounded(hub, f"{PAGE}s/evaluations")


def test_what_an_evaluation_may_be_compared_with_is_bounded(
    hub: httpx.Client, evaluations: list[str]
) -> None:
    require_bounded(hub, f"/dashboard/compare?evaluation={evaluations[0]}")


def test_a_comparison_of_evaluations_is_bounded(hub: httpx.Client, evaluations: list[str]) -> None:
    chosen = "&".join(f"evaluation={each}" for each in evaluations[1:5])
    require_bounded(hub, f"/dashboard/compare?{chosen}")
    require_bounded(hub, f"/dashboard/compare/0.0?{chosen}")


def test_the_catalogue_is_bounded(hub: httpx.Client, evaluations: list[str]) -> None:
    tags = [f"{chr(0x1F600 + n)}{QUOTES * 98}" for n in range(20)]
    for number in range(25):
        metadata = {"description": QUOTES * 10_000, "tags": tags}
        Push(hub, f"tagged-{number}", code=f"x = {number}", metadata=metadata).run()
    require_bounded(hub, "/")
