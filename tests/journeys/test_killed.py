"""A command or a hub that is killed while it makes a pod leaves nothing that nobody knows of.

`PRIME_TEST_SEED=…` repeats the choices of a run; each run prints its own.
"""

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.helpers.engines import podman
from tests.helpers.seed import runs_every_case
from tests.journeys.kills import Killing, what_is_left
from tests.journeys.somebody import Somebody, require_ssh
from tests.journeys.town import found_town, serve_town

pytestmark = pytest.mark.machine


def kill(folder: Path, seed: int, rounds: int) -> Killing:
    require_ssh()
    ada = Somebody(folder / "ada")
    killing = Killing(ada, random.Random(seed), lambda: what_is_left(ada.pods_folder))
    killing.prepare()
    for number in range(rounds):
        killing.kill_command(number)
    print(dict(killing.seen))
    return killing


def test_commands_killed_while_they_make_a_pod_leave_nothing(tmp_path: Path, seed: int) -> None:
    if runs_every_case():
        assert len(kill(tmp_path, seed, rounds=20).seen) > 1
    else:
        kill(tmp_path, seed, rounds=2)


@pytest.mark.slow
def test_a_hub_killed_while_creating_pods_forgets_none(tmp_path: Path, seed: int) -> None:
    with found_town(tmp_path) as town, ExitStack() as hubs:
        killing = Killing(town.ada, random.Random(seed), podman().tags)
        killing.prepare()
        hub = town.hub
        for _ in range(4 if runs_every_case() else 1):
            hub = killing.kill_hub(hub, lambda: hubs.enter_context(serve_town(town.data, tmp_path)))
        print(dict(killing.seen))
        assert podman().tags() == []
