"""The files of `examples/`, run as their readers would."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import prime_process
from tests.helpers.scripted_model import Received, Reply, ScriptedModel

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
JUDGE = "gpt-4.1-nano"


def _read_yaml(name: str) -> Any:
    return import_module("yaml").safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def _github_lines() -> list[str]:
    steps = _read_yaml("github-actions.yml")["jobs"]["evaluate"]["steps"]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def _gitlab_lines() -> list[str]:
    job = _read_yaml("gitlab-ci.yml")["evaluate"]
    return [*job["before_script"], *job["script"], *job["after_script"]]


def _answer(request: Received) -> Reply:
    """The model knows the capitals but one, and says a text back; the judge likes the first."""
    asked = request.last_user
    if (request.body or {}).get("model") == JUDGE:
        return Reply("Yes." if "library" in asked else "No.")
    data = EXAMPLES / "environments" / "capital_cities" / "capital_cities" / "data"
    for line in (data / "capitals.jsonl").read_text(encoding="utf-8").splitlines()[1:]:
        row = json.loads(line)
        if row["country"] in asked:
            return Reply(row["capital"])
    return Reply(asked)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with ScriptedModel(_answer, models=("gpt-4.1-mini", JUDGE)) as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
        yield scripted


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples as a repository of the reader's, which is the working directory."""
    folder = tmp_path / "repository"
    shutil.copytree(EXAMPLES, folder)
    prices = Path.home() / ".prime" / "prices.toml"  # nobody lists prices for the scripted model
    prices.parent.mkdir(exist_ok=True)
    prices.write_text('[[price]]\nmodel = "gpt-4.1*"\ninput = 1\noutput = 2\n', encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def _run_lines(lines: list[str], gated: str) -> None:
    """Run the `prime` among `lines`; the one with `gated` misses its gate, all others succeed."""
    typed = [shlex.split(line) for line in lines]
    ours = [words[1:] for words in typed if words[0].rpartition("/")[2] == "prime"]
    assert len(ours) > 3
    for argv in ours:
        result = prime_process(*argv, merged=True, timeout=600)
        assert result.code == (gated in argv), result.out


def test_every_example_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    shown = [*EXAMPLES.glob("*.*"), *EXAMPLES.glob("environments/*")]
    assert len(shown) == page.count("\n| `")
    for path in shown:
        assert f"| `{path.relative_to(EXAMPLES).as_posix()}` |" in page


def test_every_job_caches_what_its_lines_keep() -> None:
    github = _read_yaml("github-actions.yml")["jobs"]["evaluate"]
    cached = [step["with"]["path"] for step in github["steps"] if "cache@" in step.get("uses", "")]
    assert cached == [".cache"]
    assert all("/.cache/" in value for value in github["env"].values())
    gitlab = _read_yaml("gitlab-ci.yml")["evaluate"]
    assert gitlab["cache"]["paths"] == [".cache"]
    assert all("/.cache/" in value for value in gitlab["variables"].values())


@pytest.mark.slow
def test_the_workflow_of_github_gates_on_the_mean(model: ScriptedModel, repository: Path) -> None:
    _run_lines(_github_lines(), gated="never")
    assert 'tests="11"' in (repository / "report.xml").read_text(encoding="utf-8")
    assert "capital-cities" in (repository / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_pipeline_of_gitlab_ends_with_a_missed_gate(
    model: ScriptedModel, repository: Path
) -> None:
    _run_lines(_gitlab_lines(), gated="--fail-under")
    judged = [call for call in model.requests if (call.body or {}).get("model") == JUDGE]
    assert len(judged) == 6
    assert (repository / "report.xml").is_file()


@pytest.mark.slow
def test_a_private_dependency_comes_from_the_hub(repository: Path) -> None:
    uploaded = prime_process("env", "upload", "number-answers", "--visibility", "private")
    assert "(private)" in uploaded.ok().err
    done = prime_process("eval", "run", "percentages", "-m", "builtin/oracle", "--output", "json")
    assert done.ok().json["reward"]["mean"] == 1.0
    assert "number-answers is ada/number-answers@0.1.0 on the hub" in done.err


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(repository: Path) -> None:
    notebook = json.loads((repository / "notebook.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], len({cell["id"] for cell in notebook["cells"]})) == (
        4,
        len(notebook["cells"]),
    )
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(cells)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "builtin/oracle 1.0" in done.stdout
    assert "builtin/echo" in done.stdout
