"""Sandboxes in a cluster, over a socket: how they are made, asked for, refused and removed."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import (
    EnvironmentFailed,
    ImagePullFailed,
    NotAllowed,
    NotLoggedIn,
    PrimeError,
    RateLimited,
    Unreachable,
    UsageError,
)
from prime_cli.hub.sandboxes.kubernetes.provider import KubernetesProvider
from prime_cli.hub.sandboxes.provider import SandboxSpec
from tests.helpers.kubernetes import Refusal, ScriptedCluster, waiting
from tests.helpers.local_pods import wait_until
from tests.helpers.tools import needs
from tests.hub.sandboxes.kubernetes.clusters import (
    TAG,
    a_spec,
    configure,
    created,
    failure_of,
    refusal_of,
    with_provider,
)

pytestmark = needs("unshare")


def facts_of(spec: SandboxSpec | None = None) -> dict[str, str]:
    """What holds a sandbox that is made and removed."""

    async def work(provider: KubernetesProvider) -> dict[str, str]:
        async with created(provider, spec) as sandbox:
            return dict(sandbox.facts)

    return with_provider(work)


@pytest.mark.parametrize("version", [None, "v1alpha1", "v1beta1"])
def test_a_sandbox_is_made_and_removed_whole(cluster: ScriptedCluster, version: str | None) -> None:
    cluster.version = version

    async def work(provider: KubernetesProvider) -> list[str]:
        async with created(provider, a_spec(variables={"A": "planted"})) as sandbox:
            assert await provider.list_tags("prime-0000002a-") == [TAG]
            assert await provider.list_tags("prime-0000002b-") == []
            assert ("agent-sandbox" in sandbox.facts["made as"]) is True
            return cluster.kinds()

    kinds = with_provider(work)
    made = "Job" if version is None else "Sandbox"
    assert kinds == sorted([made, "Pod", "NetworkPolicy", "Secret"])
    assert cluster.kinds() == []
    assert cluster.made[0]["kind"] == made
    if version is not None:
        assert cluster.made[0]["apiVersion"] == f"agents.x-k8s.io/{version}"
    assert "planted" not in str(cluster.made[0])


def test_what_the_cluster_accepted_is_told(
    cluster: ScriptedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, cluster, tmp_path, PRIME_KUBERNETES_RUNTIME_CLASS="gvisor")
    facts = facts_of(a_spec(memory_gb=0.5, cpu_cores=0.5))
    assert facts["memory"] == "500.0 MB"
    assert facts["cpu"] == "0.5 CPUs"
    assert facts["kernel"] == "by the RuntimeClass `gvisor`"
    assert facts["network"] == "none"
    assert facts["node"] == "node-1"


def drop_memory(manifest: dict[str, Any]) -> None:
    if manifest["kind"] == "Job":
        del manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]


def raise_memory(manifest: dict[str, Any]) -> None:
    if manifest["kind"] == "Job":
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = (
            "64Gi"
        )


@pytest.mark.parametrize("change", [drop_memory, raise_memory])
def test_a_limit_that_the_cluster_changes_is_an_error(
    cluster: ScriptedCluster, change: Any
) -> None:
    cluster.change = change
    error = failure_of()
    assert isinstance(error, EnvironmentFailed)
    assert "does not keep the limit of memory" in error.message
    assert cluster.kinds() == []


def test_root_needs_user_namespaces_that_the_cluster_keeps(
    cluster: ScriptedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, cluster, tmp_path, PRIME_KUBERNETES_ROOT="1")
    assert facts_of()["user"] == "root, in a user namespace of the pod"

    def drop(manifest: dict[str, Any]) -> None:
        manifest["spec"].get("template", manifest)["spec"].pop("hostUsers", None)

    cluster.change = drop
    error = failure_of()
    assert isinstance(error, UsageError)
    assert "user namespaces" in error.message


@pytest.mark.parametrize("version", [None, "v1beta1"])
def test_nothing_survives_its_deadline_though_nobody_removes_it(
    cluster: ScriptedCluster, version: str | None
) -> None:
    cluster.version = version
    cluster.seconds_are = 0.001

    async def work(provider: KubernetesProvider) -> None:
        await provider.create(a_spec(stop_at=time.time() + 200, variables={"A": "planted"}))
        assert "Secret" in cluster.kinds()

    with_provider(work)
    wait_until(lambda: cluster.kinds() == [], what="everything of it is gone")


def test_an_image_that_cannot_be_fetched_is_a_wish_that_cannot_be_met(
    cluster: ScriptedCluster,
) -> None:
    cluster.states = [
        waiting("ErrImagePull", "try again"),
        waiting("ImagePullBackOff", "manifest unknown"),
    ]
    error = failure_of()
    assert isinstance(error, ImagePullFailed)
    assert "manifest unknown" in error.message
    assert cluster.kinds() == []


def test_a_pod_without_a_node_ends_with_the_words_of_the_scheduler(
    cluster: ScriptedCluster,
) -> None:
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    words = "0/3 nodes are available: 3 Insufficient memory."
    cluster.states = [{"phase": "Pending", "conditions": [{**why, "message": words}]}]
    error = failure_of(place_seconds=0.3)
    assert isinstance(error, EnvironmentFailed)
    assert words in error.message
    assert cluster.kinds() == []


@pytest.mark.parametrize(
    ("status", "message", "kind", "words"),
    [
        (403, "exceeded quota: compute", RateLimited, "is full"),
        (403, "cannot create resource pods", NotAllowed, "refused: cannot create"),
        (403, "violates PodSecurity restricted", NotAllowed, "PodSecurity"),
        (422, "image: Invalid value", UsageError, "Invalid value"),
        (404, 'namespaces "boxes" not found', UsageError, "no such namespace"),
        (401, "Unauthorized", NotLoggedIn, "does not accept your credentials"),
    ],
)
def test_what_the_cluster_refuses_has_its_sentence(
    cluster: ScriptedCluster, status: int, message: str, kind: type[PrimeError], words: str
) -> None:
    cluster.refusals = [Refusal("POST", "/pods", status, message, times=2)]
    error = refusal_of(a_spec())
    assert type(error) is kind
    assert words in error.message
    assert sum(method == "POST" for method, _ in cluster.requests) == (2 if status == 401 else 1)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_cluster_is_asked_again(cluster: ScriptedCluster, status: int) -> None:
    cluster.refusals = [Refusal("POST", "/jobs", status, retry_after="0", times=2)]
    facts_of()
    assert [each["kind"] for each in cluster.made] == ["Job", "NetworkPolicy"]


def test_a_cluster_that_stays_busy_says_when_to_come_back(cluster: ScriptedCluster) -> None:
    cluster.refusals = [Refusal("POST", "/jobs", 429, "slow down", retry_after="0", times=9)]
    error = failure_of()
    assert isinstance(error, RateLimited)
    assert error.retry_after == 0


def test_a_creation_whose_answer_is_lost_is_one_sandbox(cluster: ScriptedCluster) -> None:
    cluster.refusals = [Refusal("POST", "/jobs", 504, retry_after="0", keeps=True)]
    facts_of()
    assert sum(each["kind"] == "Job" for each in cluster.made) == 1


def test_a_cluster_that_does_not_answer_is_named(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster.url = "http://127.0.0.1:9"
    configure(monkeypatch, cluster, tmp_path)
    error = failure_of()
    assert isinstance(error, Unreachable)
    assert "http://127.0.0.1:9" in error.message


def test_a_creation_that_is_given_up_leaves_nothing(cluster: ScriptedCluster) -> None:
    cluster.states = [{"phase": "Pending"}]

    async def work(provider: KubernetesProvider) -> None:
        creating = asyncio.create_task(provider.create(a_spec()))
        while "NetworkPolicy" not in cluster.kinds():  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.01)
        creating.cancel()
        await asyncio.wait({creating})

    with_provider(work)
    assert cluster.kinds() == []


def test_a_check_asks_the_cluster_and_makes_nothing(cluster: ScriptedCluster) -> None:
    async def work(provider: KubernetesProvider) -> tuple[str, ...]:
        await provider.check(a_spec(), may_fetch=False)
        return await provider.check(a_spec(folders=("/wheels",)), may_fetch=True)

    differs = with_provider(work)
    assert differs == (
        "commands run as user 1000, not as root",
        "these folders of this machine are missing: /wheels",
    )
    assert cluster.kinds() == []
    asked = [path for method, path in cluster.requests if method == "POST"]
    assert asked[0] == "/api/v1/namespaces/boxes/pods?dryRun=All"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"hosts": ("127.0.0.1:3141",)}, "is on this machine, which a pod does not reach"),
        ({"public_hosts": ("*.example.org:443",)}, "its policies know no names"),
        ({"public_hosts": ("10.0.0.1:443",)}, "has no public address"),
    ],
)
def test_a_host_that_no_policy_can_name_is_refused_before(
    cluster: ScriptedCluster, values: dict[str, Any], words: str
) -> None:
    async def work(provider: KubernetesProvider) -> None:
        with pytest.raises(UsageError, match=words):
            await provider.check(a_spec(network="packages", **values), may_fetch=True)

    with_provider(work)


def test_what_was_left_behind_is_found_and_removed(cluster: ScriptedCluster) -> None:
    async def leave(provider: KubernetesProvider) -> None:
        await provider.create(a_spec())

    async def collect(provider: KubernetesProvider) -> None:
        assert await provider.list_tags("prime-") == [TAG]
        await provider.remove(TAG)
        await provider.remove(TAG)

    with_provider(leave)
    assert cluster.kinds() == ["Job", "NetworkPolicy", "Pod"]
    with_provider(collect)
    assert cluster.kinds() == []


def test_without_a_cluster_the_next_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    error = failure_of()
    assert isinstance(error, UsageError)
    assert "set KUBECONFIG" in (error.hint or "")


def test_a_broken_kubeconfig_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text("contexts: [", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    error = failure_of()
    assert isinstance(error, UsageError)
    assert "kubectl's configuration cannot be used" in error.message
