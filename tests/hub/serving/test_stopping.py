"""How a served hub ends: told once, told twice, or killed."""

import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.helpers.processes import is_running
from tests.helpers.raw_upload import RawUpload
from tests.helpers.serving import ServedHub, serve
from tests.hub.pushing import HUB, Push, data

pytestmark = pytest.mark.slow


def begin_upload(hub: ServedHub, client: httpx.Client) -> tuple[Push, RawUpload]:
    """A push whose wheel is half sent, and taken in by the hub."""
    push = Push(client, code="# " + "x" * 200_000)
    push.begin()
    upload = RawUpload(data(push.declare_wheel())["upload_url"], len(push.wheel))
    upload.send(push.wheel[:100_000])
    for _ in range(6000):
        if "prime_hub_uploads_in_flight 1.0" in client.get("/metrics").text:
            return push, upload
        time.sleep(0.01)
    raise AssertionError("the upload never began")


def test_upload_under_way_is_finished_after_sigterm(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub:
        with hub.client() as client:
            push, upload = begin_upload(hub, client)
        with upload:
            hub.process.send_signal(signal.SIGTERM)
            wait_until_refused(hub)
            upload.send(push.wheel[100_000:])
            assert upload.status() == 200
        assert hub.process.wait(60) == 0
    with serve(tmp_path / "hub", env={"PRIME_HUB_ADMIN": "other"}) as again:
        headers = {"authorization": f"Bearer {hub.key}"}
        with httpx.Client(base_url=again.url, headers=headers, trust_env=False) as client:
            push.client = client
            # Its bytes are there, so nothing is to be sent again.
            assert data(push.declare_wheel())["upload_url"] is None
            push.run()
            assert data(client.get(f"{HUB}/admin/word/@latest"))["semantic_version"] == "0.1.0"


def wait_until_refused(hub: ServedHub) -> None:
    """Until the hub takes no new connections."""
    for _ in range(6000):
        try:
            httpx.get(f"{hub.url}/healthz", trust_env=False)
        except httpx.TransportError:
            return
        time.sleep(0.01)
    raise AssertionError("the hub still answers")


def test_second_signal_ends_at_once(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub, hub.client() as client:
        _, upload = begin_upload(hub, client)
        with upload:
            hub.process.send_signal(signal.SIGTERM)
            wait_until_refused(hub)
            assert hub.process.poll() is None
            assert hub.stop() == 130
            assert upload.status() == 0


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    with serve(tmp_path / "hub", "--workers", "2") as hub:
        children = Path(f"/proc/{hub.process.pid}/task/{hub.process.pid}/children")
        pids = [int(pid) for pid in children.read_text(encoding="utf-8").split()]
        assert len(pids) >= 2
        hub.process.kill()
        hub.process.wait()
        for _ in range(6000):
            if not any(is_running(pid) for pid in pids):
                return
            time.sleep(0.01)
    raise AssertionError("a worker lives on")
