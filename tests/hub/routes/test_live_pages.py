"""Pages of an evaluation to which samples are pushed while its pages are read."""

import re
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from starlette.applications import Starlette

from prime_cli.client.api.transports import AppTransport
from prime_cli.hub.app import create_app
from tests.hub.evaluating import made, push
from tests.hub.pushing import Push, settings_for

METRIC = r'<td>length</td><td class="number">([\d,]+)</td><td class="number">([\d.,]+)</td>'
ERROR = r'<td>infra</td><td>Timeout</td><td class="number">([\d,]+)</td>'
approx = partial(pytest.approx, rel=1e-3)


@pytest.fixture
def app(folder: Path) -> Starlette:
    return create_app(settings_for(folder))


@pytest.fixture
def hub(app: Starlette) -> httpx.Client:
    client = httpx.Client(transport=AppTransport(app), base_url="http://hub.local")
    Push(client).run()
    return client


def sample(k: int) -> dict[str, Any]:
    """Sample k of ten examples, with the reward k; each tenth is an error."""
    place = {"example_id": k % 10, "rollout_number": k // 10}
    if k % 10 == 9:
        return place | {"error": {"type": "Timeout", "class": "infra", "message": "late"}}
    return place | {"reward": float(k), "metrics": {"length": k}}


@contextmanager
def between_statements(
    app: Starlette, change: Callable[[], object], when: Container[int]
) -> Iterator[None]:
    """`change` is done, on a connection of its own, before some of the statements with which
    somebody else reads; these are numbered from 0.
    """
    engine = app.state.hub.database.engine
    count, is_changing = 0, False

    def before(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal count, is_changing
        if is_changing or not statement.startswith("SELECT"):
            return
        if count in when:
            is_changing = True
            worker = threading.Thread(target=change)
            worker.start()
            worker.join()
            is_changing = False
        count += 1

    event.listen(engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", before)
    assert count > 0


def numbers(pattern: str, page: str) -> list[float]:
    """The numbers that the groups of `pattern` match on a page, where it is found first."""
    found = re.search(pattern, page, re.DOTALL)
    assert found is not None, (pattern, page)
    return [float(each.replace(",", "")) for each in found.groups()]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_every_number_of_a_page_is_of_the_same_moment(
    app: Starlette, hub: httpx.Client, most: int
) -> None:
    wanted = made(hub)
    push(hub, wanted, [sample(k) for k in range(15)])
    pushed = 15

    def push_more() -> None:
        nonlocal pushed
        answer = push(hub, wanted, [sample(k) for k in range(pushed, pushed + 5)])
        assert answer.status_code == 200
        pushed += 5

    with between_statements(app, push_more, range(most)):
        page = hub.get(f"/dashboard/evaluations/{wanted}").text

    (count,) = numbers(r"<dt>Samples</dt><dd>([\d,]+)</dd>", page)
    rewards = [k for k in range(int(count)) if k % 10 != 9]
    mean = sum(rewards) / len(rewards)
    assert 15 <= count <= pushed
    assert numbers(r"events\?known=(\d+)", page) == [count]
    assert numbers(r"<dt>Errors</dt><dd>([\d,]+)</dd>", page) == [count - len(rewards)]
    assert numbers(r"<dt>Mean reward</dt><dd>([\d.,]+)", page) == [approx(mean)]
    assert numbers(METRIC, page) == [len(rewards), approx(mean)]
    assert numbers(ERROR, page) == [count - len(rewards)]
    assert len(re.findall(r'href="[^"]*/samples/\d+"', page)) == count
    assert numbers(r"Reward: ([\d,]+) values from 0 to ([\d,]+)", page) == [
        len(rewards),
        rewards[-1],
    ]
    assert numbers(r"length: ([\d,]+) values", page) == [len(rewards)]


def scored(example: int, reward: float) -> dict[str, Any]:
    """A sample that says its reward."""
    names = {"example_id": example, "rollout_number": 0}
    return names | {"reward": reward, "completion": f"said {reward:g}"}


@pytest.mark.parametrize("statement", range(10))
def test_samples_that_are_replaced_meanwhile_are_in_all_numbers_or_none(
    app: Starlette, hub: httpx.Client, statement: int
) -> None:
    wanted = made(hub)
    push(hub, wanted, [scored(n, 0.25) for n in range(8)])

    def replace() -> None:
        push(hub, wanted, [scored(n, 0.75) | {"attempt": 2} for n in range(8)])

    with between_statements(app, replace, [statement]):
        page = hub.get(f"/dashboard/evaluations/{wanted}").text

    (reward,) = numbers(r"Reward: 8 values of ([\d.]+)", page)
    assert set(re.findall(r'aria-label="rollout 0: ([\d.]+)"', page)) == {f"{reward:g}"}
    assert set(re.findall(r'clip">(said [\d.]+)<', page)) == {f"said {reward:g}"}
    assert ("<dt>Mean reward</dt>" in page) == (reward == 0.25)


@pytest.mark.parametrize("statement", range(2, 12))
def test_samples_that_come_during_a_comparison_are_no_rollouts_of_other_examples(
    app: Starlette, hub: httpx.Client, statement: int
) -> None:
    first, other = made(hub, name="first"), made(hub, name="other")
    push(hub, first, [{"reward": 0.75, "prompt": f"{n}"} for n in range(8)])
    push(hub, other, [{"reward": 0.25, "prompt": f"{n}"} for n in range(8)])

    def push_more() -> None:
        push(hub, other, [{"reward": 1.0, "prompt": f"{n}"} for n in range(8, 12)])

    with between_statements(app, push_more, [statement]):
        page = hub.get(f"/dashboard/compare?evaluation={first}&evaluation={other}").text

    means = r"<td>other</td><td>.*?</td><td[^>]*>([\d.]+)</td><td[^>]*>([\d.]+)</td>"
    assert numbers(means, page) == [0.25, 0.75]
