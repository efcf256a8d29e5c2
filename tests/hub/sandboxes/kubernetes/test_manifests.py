"""What is sent to a cluster, held against Kubernetes' strict schemas and agent-sandbox's fields."""

import asyncio
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator

from prime_cli.hub.sandboxes.internet import PRIVATE_NETWORKS
from prime_cli.hub.sandboxes.kubernetes.manifests import (
    make_job,
    make_pod,
    make_policy,
    make_sandbox,
    make_secret,
)
from prime_cli.hub.sandboxes.kubernetes.network import make_network
from prime_cli.hub.sandboxes.kubernetes.settings import KubernetesSettings
from prime_cli.hub.sandboxes.kubernetes.states import read_quantity
from prime_cli.hub.sandboxes.provider import SandboxSpec
from tests.hub.sandboxes.kubernetes.clusters import TAG, a_spec

ROOT = Path(__file__).parents[4]
SCHEMAS = ROOT / "tests" / "evals" / "shards" / "schemas" / "kubernetes.json"
KINDS = {
    "Job": "io.k8s.api.batch.v1.Job",
    "Pod": "io.k8s.api.core.v1.Pod",
    "PodSpec": "io.k8s.api.core.v1.PodSpec",
    "Secret": "io.k8s.api.core.v1.Secret",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "Role": "io.k8s.api.rbac.v1.Role",
    "RoleBinding": "io.k8s.api.rbac.v1.RoleBinding",
}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": TAG, "uid": "1"}
SETTINGS = KubernetesSettings(runtime_class="gvisor")


def faults(document: dict[str, Any], kind: str | None = None) -> list[str]:
    definitions = json.loads(SCHEMAS.read_text("utf-8"))["$defs"]
    name = KINDS[kind or document["kind"]]
    schema = {"$defs": definitions, "$ref": f"#/$defs/{name}"}
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


def pod_of(spec: SandboxSpec, settings: KubernetesSettings = SETTINGS) -> dict[str, Any]:
    return make_pod(spec, settings, asyncio.run(make_network(spec)))


SPECS = [
    a_spec(variables={"A": "1"}),
    a_spec(network="internet", cpu_cores=0.1),
    a_spec(network="packages", hosts=("10.1.2.3:3141",), public_hosts=("9.9.9.9:443",)),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.network)
@pytest.mark.parametrize("root", [False, True])
def test_kubernetes_takes_every_object(spec: SandboxSpec, root: bool) -> None:
    settings = KubernetesSettings(runtime_class="gvisor", root=root)
    network = asyncio.run(make_network(spec))
    pod = make_pod(spec, settings, network)
    job = make_job(spec, settings, network)
    others = [job, make_policy(spec, network, OWNER), make_secret(spec, OWNER)]
    assert [fault for each in (pod, *others) for fault in faults(each)] == []
    pod["spec"]["containers"][0]["comand"] = ["x"]
    assert "'comand' was unexpected" in faults(pod)[0]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_agent_sandbox_takes_its_resource(version: str) -> None:
    """Its fields: sandbox_types.go of both versions."""
    spec = a_spec()
    made = make_sandbox(spec, SETTINGS, asyncio.run(make_network(spec)), version)
    assert made["apiVersion"] == f"agents.x-k8s.io/{version}"
    assert made["spec"].keys() == {"podTemplate", "shutdownTime", "shutdownPolicy"}
    template = made["spec"]["podTemplate"]
    assert template.keys() == {"metadata", "spec"}
    assert template["metadata"].keys() == {"labels"}
    assert faults(template["spec"], "PodSpec") == []
    assert made["spec"]["shutdownPolicy"] == "Delete"
    late = datetime.fromisoformat(made["spec"]["shutdownTime"]).timestamp() - spec.stop_at
    assert 30 <= late <= 32


def test_a_pod_has_no_rights_and_an_end() -> None:
    spec = pod_of(a_spec(stop_at=time.time() + 100))["spec"]
    assert 100 <= spec["activeDeadlineSeconds"] <= 131
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert spec["runtimeClassName"] == "gvisor"
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    security = spec["containers"][0]["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert spec["containers"][0]["resources"]["limits"].keys() == {
        "memory",
        "cpu",
        "ephemeral-storage",
    }


def test_a_job_makes_one_pod_and_goes_at_its_time() -> None:
    spec = a_spec(stop_at=time.time() + 100)
    job = make_job(spec, SETTINGS, asyncio.run(make_network(spec)))["spec"]
    assert 100 <= job["activeDeadlineSeconds"] <= 131
    assert (job["backoffLimit"], job["ttlSecondsAfterFinished"]) == (0, 60)
    assert job["template"]["metadata"]["labels"]["prime.sandbox"] == TAG


def test_labels_name_the_owner_and_the_run_as_kubernetes_takes_them() -> None:
    labels = pod_of(a_spec(labels={"owner": "ada", "run": "a b/ü" + "x" * 99}))["metadata"][
        "labels"
    ]
    assert labels["prime.sandbox"] == TAG
    assert labels["prime.owner"] == "ada"
    assert labels["prime.run"].startswith("a-b--x")
    assert len(labels["prime.run"]) == 63


def test_each_network_reaches_what_it_names_alone() -> None:
    def egress(spec: SandboxSpec) -> list[Any]:
        policy = make_policy(spec, asyncio.run(make_network(spec)), OWNER)["spec"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        assert policy["ingress"] == []
        found: list[Any] = policy["egress"]
        return found

    assert egress(SPECS[0]) == []
    names, public = egress(SPECS[1])
    assert {each["port"] for each in names["ports"]} == {53}
    assert public["to"][0]["ipBlock"]["except"] == list(PRIVATE_NETWORKS)
    assert {"10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"} <= set(PRIVATE_NETWORKS)
    reached = [(each["to"][0]["ipBlock"]["cidr"], each["ports"]) for each in egress(SPECS[2])]
    assert reached == [
        ("10.1.2.3/32", [{"protocol": "TCP", "port": 3141}]),
        ("9.9.9.9/32", [{"protocol": "TCP", "port": 443}]),
    ]
    assert pod_of(SPECS[2])["spec"]["dnsPolicy"] == "None"


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", 0.5), ("2Gi", 2 * 1024**3), ("2G", 2e9), ("1e3", 1000), ("7", 7), ("1k", 1000)],
)
def test_a_quantity_is_read(text: str, number: float) -> None:
    assert float(read_quantity(text)) == number


def test_what_is_no_quantity_is_no_number() -> None:
    for text in ("", "x", "1Zi", "--1"):
        with pytest.raises(ValueError, match="is not a quantity"):
            read_quantity(text)


def test_the_role_of_the_docs_is_one_that_kubernetes_takes() -> None:
    text = (ROOT / "docs" / "deploy" / "sandboxes-role.yaml").read_text("utf-8")
    objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
    assert objects.keys() == {"Role", "RoleBinding"}
    assert [fault for each in objects.values() for fault in faults(each)] == []
    resources = {name for rule in objects["Role"]["rules"] for name in rule["resources"]}
    assert resources == {
        "pods",
        "pods/exec",
        "jobs",
        "secrets",
        "networkpolicies",
        "sandboxes",
    }
