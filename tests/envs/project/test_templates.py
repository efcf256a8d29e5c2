"""Each template of `prime env init` runs as it was generated: here, and in verifiers' evaluator."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from prime_cli.envs.project.scaffold import TemplateKind, plan_scaffold, write_scaffold
from tests.helpers.cli import Prime, prime_process
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.tools import needs_bubblewrap
from tests.helpers.venvs import venv_python

RELEASES = ("0.4.0", "0.4.1.dev86")
"""Today's release of verifiers, and its newest pre-release."""
KINDS = [
    pytest.param(kind, marks=needs_bubblewrap if kind is TemplateKind.CODE else ())
    for kind in TemplateKind
]
SECONDS = 600

pytestmark = pytest.mark.slow


def run_program(*words: str | Path, cwd: Path, **variables: str) -> None:
    """Run one that has to end with 0."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def generate(kind: TemplateKind, folder: Path) -> Path:
    plan = plan_scaffold("my-env", folder, kind=kind)
    write_scaffold(plan)
    return plan.root


@pytest.mark.sample(2, "kind")
@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_earns_the_whole_reward(kind: TemplateKind, tmp_path: Path) -> None:
    project = generate(kind, tmp_path)
    words = ("-m", "builtin/oracle", "-n", "3", "-r", "2", "--output", "json")
    done = prime_process("eval", "run", str(project), *words, cwd=tmp_path, timeout=SECONDS)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert (summary["counts"]["scored"], summary["reward"]["mean"]) == (6, 1.0)


OF_JUDGES = ("echo", "garbage", "errors")
"""The checks that need a judge, which costs money."""


@pytest.mark.sample(2, "kind")
@pytest.mark.parametrize("kind", KINDS)
def test_a_check_finds_that_a_template_lacks_nothing_but_a_license(
    kind: TemplateKind, prime: Prime, tmp_path: Path
) -> None:
    """Which license a new environment has is for its author to say."""
    amiss = _amiss(prime, str(generate(kind, tmp_path)), tmp_path)
    skipped = {name: "skip" for name in OF_JUDGES if kind is TemplateKind.JUDGE}
    assert amiss == {"metadata": "It has no license", **skipped}


@pytest.mark.sample(1, "kind")
@pytest.mark.parametrize("kind", ["single-turn", "multi-turn", "tool"])
def test_it_finds_the_same_of_the_form_before(kind: str, prime: Prime, tmp_path: Path) -> None:
    prime("env", "init", "my-env", "--v0", "--template", kind, cwd=tmp_path).ok()
    assert _amiss(prime, "my-env", tmp_path) == {"metadata": "It has no license"}


def _amiss(prime: Prime, environment: str, folder: Path) -> dict[str, str]:
    """What each check says that does not pass, or `skip` of one that cannot run."""
    report = prime("env", "check", environment, "--output", "json", cwd=folder).ok().json
    told = {each["id"]: (each["status"], each["sentence"]) for each in report["checks"]}
    found = {name: each for name, each in told.items() if each[0] != "pass"}
    return {name: "skip" if status == "skip" else words for name, (status, words) in found.items()}


@pytest.mark.sample(1, "kind")
@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", RELEASES)
@pytest.mark.parametrize("kind", TemplateKind)
def test_a_template_passes_its_own_tests(
    kind: TemplateKind, verifiers: str, tmp_path: Path
) -> None:
    project = generate(kind, tmp_path)
    python = venv_python(f"verifiers=={verifiers}", "pytest")
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "tests"]
    run_program(python, *options, cwd=project, PYTHONPATH=str(project))


@pytest.mark.network
@pytest.mark.sample(1, "kind")
@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", RELEASES)
@pytest.mark.parametrize("kind", TemplateKind)
def test_the_evaluator_of_verifiers_runs_a_template(
    kind: TemplateKind, verifiers: str, tmp_path: Path
) -> None:
    project = generate(kind, tmp_path)
    program = venv_python(f"verifiers=={verifiers}").parent / "vf-eval"
    with ScriptedModel() as model:
        words = ("my-env", *_arguments(kind, model.url))
        run_program(program, *words, cwd=tmp_path, KEY="x", PYTHONPATH=str(project), COLUMNS="200")
    (file,) = tmp_path.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [each["errors"] for each in episodes] == [[], []]
    assert all(trace["rewards"] for each in episodes for trace in each["traces"])


def _arguments(kind: TemplateKind, url: str) -> list[str]:
    words = ["-m", "org/m", "--client.base-url", url, "--client.api-key-var", "KEY"]
    words += ["-n", "2", "-c", "1", "--no-push", "--no-rich"]
    roles = ("describer", "guesser") if kind is TemplateKind.TWO_PLAYERS else ("agent",)
    for role in roles:
        words += [f"--env.{role}.runtime.type", "subprocess", f"--env.{role}.harness.id", "null"]
    if kind is TemplateKind.JUDGE:
        judge = "--env.taskset.task.judge"
        words += [f"{judge}.base-url", url, f"{judge}.api-key-var", "KEY"]
    return words
