"""Pods that SkyPilot makes, loses and ends, seen by processes that come and go."""

import base64
import json
import os
import signal
import subprocess
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.hub.compute.provider import SshAddress
from tests.helpers.local_pods import wait_until
from tests.helpers.skypilots import PROXIED, FakeSky, order_of, until

AWS = "sky/aws/us-east-1/p5.48xlarge"


def test_a_pod_comes_up_with_the_addresses_of_all_its_nodes(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS, nodes=2, disk_size=100, image="docker:ubuntu:24.04")
    provider.start(order)
    seen = until(provider, order.tag, "ACTIVE")
    config = str(sky.data / order.tag / "ssh_config")
    assert seen.addresses == (
        SshAddress("ubuntu", "192.0.2.7", 22, config),
        SshAddress("ubuntu", "192.0.2.8", 2200, config),
    )
    (call,) = sky.calls("launch")
    assert call["task"]["num_nodes"] == 2
    assert call["task"]["resources"] == {
        "infra": "aws/us-east-1",
        "accelerators": {"H100": 8},
        "instance_type": "p5.48xlarge",
        "use_spot": False,
        "disk_size": 100,
        "image_id": "docker:ubuntu:24.04",
    }
    assert call["down"] is True
    assert 55 <= call["idle_minutes_to_autostop"] <= 60
    assert "Cluster launched" in provider.log(order.tag, 10)
    assert "\x1b" not in provider.log(order.tag, 10)


def test_keys_and_variables_of_any_content_arrive_and_are_not_stored(sky: FakeSky) -> None:
    odd = 'it\'s "$HOME" `id`\n$(touch x)'
    provider = sky.provider()
    order = order_of(provider, AWS, variables={"ODD": odd}, authorized_keys=("ssh-ed25519 AA a'b",))
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    task = sky.calls("launch")[0]["task"]
    assert base64.b64decode(task["envs"]["PRIME_AUTHORIZED_KEYS"]) == b"ssh-ed25519 AA a'b\n"
    exports = base64.b64decode(task["secrets"]["PRIME_ENVIRONMENT"]).decode()
    shown = subprocess.run(
        ["sh", "-c", f'{exports}printf %s "$ODD"'], capture_output=True, check=True
    )
    assert shown.stdout.decode() == odd
    assert odd not in task["setup"]
    assert "task" not in json.loads((sky.data / order.tag / "order.json").read_bytes())


def test_a_pod_of_slurm_has_a_time_limit_and_leaves_no_key_in_the_account(sky: FakeSky) -> None:
    provider = sky.provider()
    stop_at = datetime.now(UTC) + timedelta(minutes=30)
    order = order_of(provider, "sky/slurm/lab", stop_at=stop_at, vcpus=4, memory=8)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    (call,) = sky.calls("launch")
    assert call["task"]["config"] == {"slurm": {"sbatch_options": {"time": "30"}}}
    expected = {"infra": "slurm/lab", "cpus": "4+", "memory": "8+"}
    assert call["task"]["resources"] == expected
    assert "envs" not in call["task"]
    assert "authorized_keys" not in call["task"]["setup"]
    assert "down" not in call


def test_a_setup_does_what_it_says_in_a_home(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS, variables={"GREETING": "it's fine"})
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    task = sky.calls("launch")[0]["task"]
    home = sky.folder / "account"
    home.mkdir()
    (home / ".bashrc").write_text("# mine\n", encoding="utf-8")
    # The account is a folder of this test instead of the one that getent knows.
    script = task["setup"].replace('$(getent passwd "$(id -un)" | cut -d: -f6)', str(home))
    variables = {**task["envs"], **task["secrets"], "HOME": str(home), "PATH": os.environ["PATH"]}
    for _ in range(2):
        subprocess.run(["sh", "-c", script], env=variables, check=True)
    assert "ssh-ed25519 AAAA ada\n" in (home / ".ssh" / "authorized_keys").read_text("utf-8")
    assert (home / ".bashrc").read_text("utf-8").count("prime_environment") == 2
    shown = subprocess.run(
        ["sh", "-c", '. ~/.bashrc; echo "$GREETING"'],
        env={"HOME": str(home)},
        capture_output=True,
        check=True,
    )
    assert shown.stdout == b"it's fine\n"


def test_the_way_in_checks_host_keys_and_knows_the_pod_by_its_id(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    config = (sky.data / order.tag / "ssh_config").read_text("utf-8")
    assert f"Host {order.tag} id-of-the-pod\n" in config
    assert "Known" not in config
    assert "StrictHostKeyChecking" not in config
    assert "~" not in config


def test_users_of_a_served_hub_are_given_no_address_that_they_cannot_reach(sky: FakeSky) -> None:
    sky.way_in(PROXIED)
    provider = sky.provider(embedded=False)
    order = order_of(provider, AWS)
    provider.start(order)
    seen = until(provider, order.tag, "ERROR")
    assert seen.failure == "It is up, and has no address that users of this hub reach"


def test_to_begin_again_changes_nothing(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    provider.start(order)
    assert len(sky.calls("launch")) == 1


@pytest.mark.parametrize(
    ("world", "why"),
    [
        ({"launch": "fail"}, "SkyPilot failed: No machine is left of this kind"),
        ({"setup": 100}, "SkyPilot failed: The machine is up, but its setup failed"),
    ],
)
def test_a_launch_that_fails_says_why(sky: FakeSky, world: dict[str, object], why: str) -> None:
    sky.set(**world)
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    assert until(provider, order.tag, "ERROR").failure == why
    provider.end(order.tag)
    wait_until(lambda: not provider.list_tags(order.tag), what="nothing is left")


def test_a_setup_whose_log_is_lost_on_the_way_has_not_failed(sky: FakeSky) -> None:
    sky.set(setup=255, job="SUCCEEDED", unreached=True)
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    assert until(provider, order.tag, "ACTIVE").addresses


def test_a_launch_whose_watcher_is_killed_is_watched_again(sky: FakeSky) -> None:
    sky.set(launch="hold")
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    wait_until(lambda: sky.clusters().get(order.tag), what="it is being made")
    _kill_the_watcher(sky, order.tag)
    assert sky.provider().inspect([order.tag])[order.tag].status == "PROVISIONING"
    sky.set(launch="ok")
    until(sky.provider(), order.tag, "ACTIVE")
    assert len(sky.calls("launch")) == 1


def test_what_ends_while_it_is_launched_leaves_nothing(sky: FakeSky) -> None:
    sky.set(launch="hold")
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    provider.end(order.tag)
    wait_until(lambda: order.tag not in provider.list_tags(order.tag), what="nothing is left")
    assert sky.clusters() == {}
    assert not (sky.data / order.tag).exists()


def test_ending_that_fails_says_why_and_can_be_tried_again(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    sky.set(down="fail")
    # A busy machine may take longer than ending waits for it: then it is only seen.
    with suppress(EnvironmentFailed):
        provider.end(order.tag)
    assert "does not let go" in until(provider, order.tag, "ERROR").failure
    sky.set(down="ok")
    provider.end(order.tag)
    wait_until(lambda: not provider.list_tags(order.tag), what="nothing is left")


def test_a_pod_that_ended_on_its_own_is_gone(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    sky.set(clusters={})
    (sky.data / "clusters.json").unlink()
    assert provider.inspect([order.tag]) == {}
    assert not (sky.data / order.tag).exists()


def test_clusters_without_a_folder_are_found_and_ended(sky: FakeSky) -> None:
    sky.set(clusters={"prime-1a2b3c4d-lost": "UP", "mine": "UP"})
    provider = sky.provider()
    assert provider.list_tags("prime-1a2b3c4d-") == ["prime-1a2b3c4d-lost"]
    assert provider.inspect(["prime-1a2b3c4d-lost"])["prime-1a2b3c4d-lost"].status == "ERROR"
    provider.end("prime-1a2b3c4d-lost")
    wait_until(lambda: sky.clusters() == {"mine": "UP"}, what="it is ended")


def test_several_commands_share_one_answer_about_clusters(sky: FakeSky) -> None:
    provider = sky.provider()
    order = order_of(provider, AWS)
    provider.start(order)
    until(provider, order.tag, "ACTIVE")
    asked = len(sky.calls("status"))
    for _ in range(3):
        sky.provider().inspect([order.tag])
    assert len(sky.calls("status")) <= asked + 1


def _kill_the_watcher(sky: FakeSky, tag: str) -> None:
    pids = _watchers(str(sky.data / tag))
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not _watchers(str(sky.data / tag)), what="the watcher is gone")


def _watchers(folder: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if folder in " ".join(process.info["cmdline"] or ())
    ]
