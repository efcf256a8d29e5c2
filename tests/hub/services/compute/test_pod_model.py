"""Whatever is done in whatever order, and killed in between: no machine is ever without its row."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule
from sqlalchemy import select

from prime_cli.core.errors import Unreachable
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.hub.db.tables import pods
from prime_cli.hub.services.compute.gc import collect_garbage
from prime_cli.hub.services.compute.reconcile import refresh_all
from prime_cli.wire.pods import DELETING
from tests.helpers.machines import Machines
from tests.helpers.seed import runs_every_case
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.services.compute.renting import API, PodHub, wish


class Killed(BaseException):
    """The process of the hub ends here."""


@dataclass
class Deadly(Machines):
    """Machines at which the hub may be killed or told off: before or after what it asks for."""

    fate: str = ""

    def start(self, order: PodSpec) -> None:
        self._meet("before")
        super().start(order)
        self._meet("after")

    def end(self, tag: str) -> None:
        self._meet("before")
        if self.fate == "slow" and tag in self.seen:
            self.seen[tag] = replace(self.seen[tag], status=DELETING)
            return
        super().end(tag)
        self._meet("after")

    def _meet(self, moment: str) -> None:
        if self.fate == moment:
            self.fate = ""
            raise Killed
        if self.fate == "failing":
            raise Unreachable("The cloud is down")


FATES = st.sampled_from(["", "", "before", "after", "failing", "slow"])


class PodModel(RuleBasedStateMachine):
    """Ada rents and gives back while machines come, fail and go, and her hub is killed."""

    made = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.machines = Deadly()
        self.pod_hub = PodHub(self.folder / "hub", self.machines)
        self.key = self.pod_hub.accounts_hub.key("ada")
        self.begun = 0
        self.known: set[str] = set()

    def teardown(self) -> None:
        """In the end everything can be ended, and nothing is left."""
        self.machines.fate = ""
        for tag in list(self.machines.seen):
            self.machines.seen[tag] = replace(self.machines.seen[tag], status="ACTIVE")
        collect_garbage(self.pod_hub.accounts_hub.hub, OPERATOR, dry_run=False)
        for pod_id in self.pod_hub.pods():
            self.pod_hub.ada.delete(f"{API}/pods/{pod_id}").raise_for_status()
        assert self.machines.seen == {}
        assert self.pod_hub.pods() == []
        self.pod_hub.accounts_hub.hub.database.engine.dispose()
        shutil.rmtree(self.folder)

    @rule(target=made, fate=FATES, hours=st.integers(1, 48))
    def rent(self, fate: str, hours: int) -> Any:
        self.machines.fate = fate
        stop_at = self.pod_hub.accounts_hub.clock.now + timedelta(hours=hours)
        body = wish() | {"stopAt": stop_at.isoformat()}
        with suppress(Killed):
            self.pod_hub.ada.post(f"{API}/pods", json=body)
        self.machines.fate = ""
        self.restart()
        self.begun += 1
        newest = set(self._rows()) - self.known
        self.known |= newest
        return multiple(*newest)

    @rule(pod_id=made, fate=FATES)
    def end(self, pod_id: str, fate: str) -> None:
        self.machines.fate = fate
        with suppress(Killed):
            self.pod_hub.ada.delete(f"{API}/pods/{pod_id}")
        self.machines.fate = ""
        self.restart()

    @rule(pod_id=made)
    def arrive(self, pod_id: str) -> None:
        tag = self._tag(pod_id)
        if tag in self.machines.seen and self.machines.seen[tag].status != DELETING:
            self.machines.arrive(tag)

    @rule(pod_id=made)
    def fail(self, pod_id: str) -> None:
        if (tag := self._tag(pod_id)) in self.machines.seen:
            self.machines.fail(tag, "No capacity")

    @rule(pod_id=made)
    def vanish(self, pod_id: str) -> None:
        self.machines.seen.pop(self._tag(pod_id), None)

    @rule(minutes=st.sampled_from([0.5, 2, 90, 1500]))
    def wait(self, minutes: float) -> None:
        self.pod_hub.accounts_hub.clock.wait(minutes=minutes)

    @rule()
    def inspect(self) -> None:
        listed = self.pod_hub.pods()
        now = self.pod_hub.accounts_hub.hub.now()
        with self.pod_hub.accounts_hub.hub.database.read() as connection:
            live = connection.execute(select(pods).where(pods.c.terminated_at.is_(None))).all()
        assert sorted(listed) == sorted(row.id for row in live)
        for row in live:
            assert row.stop_at > now
            begins = row.created_at > self.pod_hub.accounts_hub.hub.after(-60)
            assert row.tag in self.machines.seen or begins

    @rule(fate=FATES)
    def watch(self, fate: str) -> None:
        self.machines.fate = fate
        with suppress(Killed):
            refresh_all(self.pod_hub.accounts_hub.hub, 30)
        self.machines.fate = ""

    @rule()
    def collect_garbage(self) -> None:
        collect_garbage(self.pod_hub.accounts_hub.hub, OPERATOR, dry_run=False)
        assert collect_garbage(self.pod_hub.accounts_hub.hub, OPERATOR, dry_run=True).leaks == []

    @invariant()
    def every_machine_has_a_live_row(self) -> None:
        with self.pod_hub.accounts_hub.hub.database.read() as connection:
            query = select(pods.c.tag).where(pods.c.terminated_at.is_(None))
            live = set(connection.execute(query).scalars())
        assert set(self.machines.seen) <= live

    @invariant()
    def nothing_is_forgotten(self) -> None:
        assert len(self._rows()) == self.begun

    def restart(self) -> None:
        """A new process over the same data."""
        self.pod_hub.accounts_hub.hub.database.engine.dispose()
        clock = self.pod_hub.accounts_hub.clock
        self.pod_hub.accounts_hub = AccountsHub(
            self.folder / "hub", clock=clock, providers=(self.machines,)
        )
        self.pod_hub.ada = self.pod_hub.accounts_hub.client(self.key)

    def _rows(self) -> list[str]:
        with self.pod_hub.accounts_hub.hub.database.read() as connection:
            return list(connection.execute(select(pods.c.id)).scalars())

    def _tag(self, pod_id: str) -> str:
        with self.pod_hub.accounts_hub.hub.database.read() as connection:
            tag = connection.execute(select(pods.c.tag).where(pods.c.id == pod_id)).scalar_one()
        return str(tag)


TestPods = PodModel.TestCase
TestPods.settings = settings(
    max_examples=15 if runs_every_case() else 6, stateful_step_count=25, deadline=None
)
