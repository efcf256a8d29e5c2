"""Renting a pod at a terminal: step by step, after a question, and waited for."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_hub import Reply, ScriptedHub, Seen
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line
from tests.helpers.terminal import Terminal
from tests.screens.asking import CTRL_C, CTRL_D, NOTHING, decline_then_agree
from tests.screens.watching import CURSOR_HIDDEN, CURSOR_SHOWN, lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal"), needs_ssh_keygen]

_POD = {"id": "1f2e3d4c5b6a", "gpuName": "H100_80GB", "gpuCount": 8, "priceHr": 20.0}
_TEAM = {"teamId": "t1", "name": "Lab", "slug": "lab", "role": "ADMIN", "createdAt": ""}
ID = "--gpu-type", "a100"


def _offer(gpu_type: str, count: int, price: float, **more: Any) -> dict[str, Any]:
    return {
        "cloudId": f"{gpu_type}-{count}-{price}",
        "gpuType": gpu_type,
        "gpuCount": count,
        "provider": "paper",
        "country": "FI",
        "vcpu": {"defaultCount": 14},
        "memory": {"defaultCount": 125},
        "prices": {"onDemand": price, "currency": "USD"},
        "images": ["ubuntu"],
        **more,
    }


OFFERS = [
    _offer("A100_80GB", 1, 1.65),
    _offer("H100_80GB", 1, 2.5),
    _offer("H100_80GB", 8, 20.0, images=["ubuntu", "pytorch"]),
    _offer(
        *("H100_80GB", 8, 22.0),
        provider="other",
        images=["ubuntu", "pytorch"],
        disk={"minCount": 100, "defaultCount": 120, "maxCount": 500},
    ),
]


class Market:
    """A hub with offers; pods are up after `looks`, or what `last` says of their state."""

    def __init__(self, hub: ScriptedHub, key: Path) -> None:
        self.asked: list[Any] = []
        self.looks = 1
        self.last: dict[str, Any] = {"status": "ACTIVE", "installationStatus": "FINISHED"}
        known = {"id": "k", "userId": "u", "name": "laptop", "publicKey": public_line(key)}
        hub.answers |= {
            "GET /capabilities": Reply({"hub": "prime", "version": "1", "features": ["pods"]}),
            "GET /availability/gpus": Reply({"items": OFFERS, "totalCount": len(OFFERS)}),
            "GET /availability/multi-node": Reply({"items": [], "totalCount": 0}),
            "GET /ssh_keys/": Reply({"data": [known | {"isPrimary": True}], "total_count": 1}),
            "GET /pods/": Reply({"data": [], "total_count": 0}),
            "GET /pods/status": self._state,
            "GET /pods/1f2e3d4c5b6a": lambda _: Reply(_POD | {"name": "mine"} | self.last),
            "GET /user/whoami": Reply({"data": {"id": "user_1", "slug": "ada"}}),
            "GET /user/teams": Reply({"data": [_TEAM], "total_count": 1}),
            "GET /teams/t1/members": Reply(
                {"data": [_member(n, name) for n, name in ((1, "ada"), (2, "bob"), (3, "eve"))],
                 "total_count": 3}
            ),
            "POST /pods/": self._create,
        }  # fmt: skip

    def _create(self, seen: Seen) -> Reply:
        self.asked.append(seen.body)
        return Reply(_POD | {"name": seen.body["pod"]["name"], "stopAt": seen.body["stopAt"]})

    def _state(self, _: Seen) -> Reply:
        self.looks -= 1
        state = self.last if self.looks < 0 else {"status": "PROVISIONING"}
        return Reply({"data": [{"podId": _POD["id"], **state}]})


def _member(number: int, name: str) -> dict[str, Any]:
    return {"userId": f"user_{number}", "userName": name, "userEmail": None, "role": "MEMBER",
            "joinedAt": ""}  # fmt: skip


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Market]:
    with ScriptedHub() as hub:
        monkeypatch.setenv("PRIME_API_BASE_URL", hub.url)
        monkeypatch.setenv("PRIME_API_KEY", "prime_sk_1234567890")
        yield Market(hub, make_key(home / ".ssh"))


@pytest.mark.parametrize("columns", [80, 40])
def test_a_machine_is_chosen_step_by_step(columns: int, market: Market, tmp_path: Path) -> None:
    words = ("pods", "create", "--for", "2h", "--no-wait")
    with Terminal(*words, cwd=tmp_path, columns=columns) as terminal:
        shown = terminal.wait_for("Which GPU? [1-2]")
        assert "1  A100_80GB, from $1.65/h" in shown
        terminal.type("2\n")
        assert "2  8 GPUs, from $20.00/h" in terminal.wait_for("How many? [1-2]")
        terminal.type("2\n")
        assert "other in FI" in terminal.wait_for("Whose? [1-2]")
        terminal.type("2\n")
        terminal.wait_for("Which image? [1-2]")
        terminal.type("pytorch\n")
        terminal.wait_for("Disk, 100-500 GB? [120]")
        terminal.type("200\n")
        shown = terminal.wait_for("[y/N]")
        assert "in 2h" in shown
        assert "$44.00 until then" in shown
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.text
        assert terminal.is_clean
    (body,) = market.asked
    assert (body["pod"]["diskSize"], body["pod"]["image"]) == (200, "pytorch")
    assert body["provider"] == {"type": "other"}


@pytest.mark.parametrize(
    ("keys", "code", "said"),
    [
        ("9\n", 2, "`9` is not one of the choices"),
        ("\n", 130, NOTHING),
        (CTRL_D, 130, NOTHING),
        (CTRL_C, 130, ""),
    ],
)
@pytest.mark.parametrize("step", range(4))
@pytest.mark.sample(2, "step")
def test_every_step_can_be_left(
    step: int, keys: str, code: int, said: str, market: Market, tmp_path: Path
) -> None:
    questions = ["Which GPU? [1-2]", "How many? [1-2]", "Whose? [1-2]", "Which image? [1-2]"]
    with Terminal("pods", "create", cwd=tmp_path) as terminal:
        for question in questions[:step]:
            terminal.wait_for(question)
            terminal.type("2\n")
        terminal.wait_for(questions[step])
        terminal.type(keys)
        assert terminal.end() == code, terminal.text
        assert terminal.is_clean
        assert said in " ".join(terminal.text.split())
    assert market.asked == []


@pytest.mark.parametrize(
    ("keys", "code", "said"),
    [
        ("many\n", 2, "`many` is not a number"),
        ("50\n", 2, "is from 100 to 500, not 50"),
        (CTRL_D, 130, NOTHING),
        (CTRL_C, 130, ""),
    ],
)
def test_an_invalid_size_is_refused(
    keys: str, code: int, said: str, market: Market, tmp_path: Path
) -> None:
    named = ("--cloud-id", "H100_80GB-8-22.0", "--image", "ubuntu")
    with Terminal("pods", "create", *named, cwd=tmp_path) as terminal:
        terminal.wait_for("Disk, 100-500 GB? [120]")
        terminal.type(keys)
        assert terminal.end() == code, terminal.text
        assert terminal.is_clean
        assert said in " ".join(terminal.text.split())
    assert market.asked == []


def test_a_pod_is_made_after_a_yes(market: Market, tmp_path: Path) -> None:
    decline_then_agree(
        *("pods", "create", *ID, "--no-wait"),
        asked="Create `a100-1` at $1.65/h?",
        kept="Nothing was created",
        state=lambda: len(market.asked),
        cwd=tmp_path,
    )


@pytest.mark.parametrize(
    ("keys", "code", "ids"),
    [
        ("1\n", 0, ["user_2"]),
        ("2, 1,2\n", 0, ["user_3", "user_2"]),
        ("\n", 0, ["user_2", "user_3"]),
        ("9\n", 2, None),
        (CTRL_D, 130, None),
        (CTRL_C, 130, None),
    ],
)
def test_members_are_picked_by_their_numbers(
    keys: str, code: int, ids: list[str] | None, market: Market, tmp_path: Path
) -> None:
    words = ("pods", "create", *ID, "--team-id", "lab", "--add-members", "--no-wait")
    with Terminal(*words, cwd=tmp_path) as terminal:
        shown = terminal.wait_for("Who may use it? Numbers with commas [all]")
        assert "1  bob, member" in shown
        assert "ada" not in shown
        terminal.type(keys)
        if ids is not None:
            terminal.wait_for("[y/N]")
            terminal.type("y\n")
        assert terminal.end() == code, terminal.text
        assert terminal.is_clean
    assert [body["teamMemberIds"] for body in market.asked] == ([] if ids is None else [ids])


def test_it_is_waited_for_at_a_terminal(market: Market, tmp_path: Path) -> None:
    market.last = {"status": "ACTIVE", "installationStatus": "FINISHED"}
    with Terminal("pods", "create", *ID, cwd=tmp_path) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.text
        assert terminal.is_clean
    drawn = [line for line in lines(terminal) if line.startswith("Waiting for a100-1")]
    assert any("PROVISIONING" in line for line in drawn), drawn
    assert "Waiting for" not in terminal.text
    assert "is ACTIVE" in terminal.text
    assert CURSOR_HIDDEN in terminal.written
    assert terminal.written.rfind(CURSOR_SHOWN) > terminal.written.rfind(CURSOR_HIDDEN)


@pytest.mark.parametrize(("signalled", "code"), [(None, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_the_pod_and_says_what_continues_and_what_ends_it(
    signalled: int | None, code: int, market: Market, tmp_path: Path
) -> None:
    market.looks = 10_000
    with Terminal("pods", "create", *ID, "--yes", "--wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Waiting for a100-1")
        terminal.wait_for("PROVISIONING")
        if signalled is None:
            terminal.type(CTRL_C)
        else:
            terminal.process.send_signal(signalled)
        assert terminal.end() == code
        assert terminal.is_clean
        shown = " ".join(terminal.text.split())
    assert "`a100-1` keeps running at $20.00/h until " in shown
    assert "terminate it with `prime pods terminate 1f2e3d4c5b6a`" in shown
    assert "Traceback" not in shown
