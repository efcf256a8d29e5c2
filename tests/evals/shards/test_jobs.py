"""Printed jobs are what their engines take, and hold no secret."""

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.shards.jobs import WRITERS, Job, job_of, to_yaml, write_job
from tests.helpers.cli import Prime

SCHEMAS = Path(__file__).parent / "schemas"
REQUEST = EvalRequest(
    environment="ada/wordle@1.2",
    model="gpt-4.1-mini",
    num_examples=100,
    env_args={"name": "it's", "n": 3},
    env_vars=("JUDGE_KEY",),
    fail_fast=False,
)
JOB = Job(REQUEST, 8, ("OPENAI_API_KEY", "JUDGE_KEY"), lock="version = 1\n# no colon: x\n")


def schema(file: str, name: str) -> dict[str, Any]:
    definitions = json.loads((SCHEMAS / file).read_text("utf-8"))["$defs"]
    return {"$defs": definitions, "$ref": f"#/$defs/{name}"}


def documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


def test_kubernetes_takes_the_jobs_and_the_lock() -> None:
    lock, parts, merge = documents(write_job(JOB, "kubernetes"))
    jsonschema.validate(lock, schema("kubernetes.json", "io.k8s.api.core.v1.ConfigMap"))
    for each in (parts, merge):
        jsonschema.validate(each, schema("kubernetes.json", "io.k8s.api.batch.v1.Job"))
    assert parts["spec"]["podReplacementPolicy"] == "Failed"
    assert lock["data"]["prime.lock"] == JOB.lock
    assert (parts["spec"]["completions"], parts["spec"]["completionMode"]) == (8, "Indexed")
    (container,) = parts["spec"]["template"]["spec"]["containers"]
    assert container["command"] == JOB.part("auto", f"parts/{JOB.name}")
    given = {each["name"]: each for each in container["env"]}
    assert given["PRIME_SHARDS"]["value"] == "8"
    for key in JOB.secrets:
        assert given[key]["valueFrom"]["secretKeyRef"] == {"name": JOB.name, "key": key}
    (last,) = merge["spec"]["template"]["spec"]["containers"]
    assert not any("valueFrom" in each for each in last["env"])


@pytest.mark.parametrize(("codes", "ended"), [("3 6 3 0", 0), ("3 7", 7)])
def test_the_merge_on_kubernetes_tries_until_the_parts_are_there(
    tmp_path: Path, codes: str, ended: int
) -> None:
    merge = documents(write_job(JOB, "kubernetes"))[-1]
    script = merge["spec"]["template"]["spec"]["containers"][0]["command"][-1]
    (tmp_path / "codes").write_text("\n".join(codes.split()) + "\n")
    fake = "prime() { code=$(head -n 1 codes); sed -i 1d codes; return $code; }; sleep() { :; }\n"
    done = subprocess.run(["sh", "-c", fake + script], cwd=tmp_path, check=False)
    assert done.returncode == ended


def test_skypilot_takes_the_tasks_of_the_pipeline() -> None:
    pipeline, parts, merge = documents(write_job(JOB, "sky"))
    assert pipeline == {"name": JOB.name}
    for each in (parts, merge):
        jsonschema.validate(each, schema("skypilot.json", "task"))
    assert parts["num_nodes"] == 8
    assert parts["secrets"] == dict.fromkeys(JOB.secrets)
    command = parts["run"].removesuffix(" || [ $? -eq 3 ]")
    assert shlex.split(command) == JOB.part("auto", "/parts/parts")
    assert shlex.split(merge["run"]) == [*JOB.merge("/parts/parts"), "--output-dir", "/parts"]


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (3, 0), (1, 1)])
def test_a_part_at_its_cap_does_not_end_the_others_on_skypilot(code: int, ended: int) -> None:
    run = documents(write_job(JOB, "sky"))[1]["run"]
    done = subprocess.run(["bash", "-c", f"prime() {{ return {code}; }}\n{run}"], check=False)
    assert done.returncode == ended


LOAD = """
import inspect, json, sys
from sky.utils.dag_utils import load_chain_dag_from_yaml as load
keys = [(name, "x") for name in sys.argv[2:]]
name = next(each for each in inspect.signature(load).parameters if each.startswith("secret"))
dag = load(sys.argv[1], **{name: keys})
print(json.dumps([dag.name, [[task.name, task.num_nodes, task.run] for task in dag.tasks]]))
"""


@pytest.mark.slow
def test_an_installed_skypilot_loads_the_pipeline(tmp_path: Path) -> None:
    command = shutil.which("sky")
    if command is None:
        pytest.skip("no SkyPilot: its command `sky` is not on PATH")
    (tmp_path / "job.yaml").write_text(write_job(JOB, "sky"), "utf-8")
    done = subprocess.run(
        [str(Path(command).resolve().with_name("python")), "-c", LOAD, "job.yaml", *JOB.secrets],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    name, tasks = json.loads(done.stdout.splitlines()[-1])
    assert (name, [task[:2] for task in tasks]) == (
        JOB.name,
        [[f"{JOB.name}-parts", JOB.shards], [f"{JOB.name}-merge", 1]],
    )
    command = tasks[0][2].removesuffix(" || [ $? -eq 3 ]")
    assert shlex.split(command) == JOB.part("auto", "/parts/parts")


def test_slurm_gets_an_array_and_a_merge_that_depends_on_it(tmp_path: Path) -> None:
    # What sbatch would be given, by a stand-in that prints it.
    (tmp_path / "sbatch").write_text(
        "#!/bin/bash\n{ echo \"$@\"; cat; echo ---; } >> jobs\necho '42;lab'\n"
    )
    (tmp_path / "sbatch").chmod(0o755)
    keys = dict.fromkeys(JOB.secrets, "sk-planted")
    script = write_job(JOB, "slurm")
    path = f"{tmp_path}:/usr/bin:/bin"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, env={"PATH": path, **keys})
    array, merge, _ = (tmp_path / "jobs").read_text().split("---\n")
    assert "#SBATCH --array=1-8\n" in array
    command = next(line for line in array.splitlines() if line.startswith("prime "))
    words = shlex.split(command.removesuffix(" || code=$?"))
    assert words == JOB.part("$SLURM_ARRAY_TASK_ID/8", f"parts/{JOB.name}")
    assert merge.startswith("--dependency=afterany:42\n")
    assert shlex.split(merge.strip().splitlines()[-1])[1:] == JOB.merge(f"parts/{JOB.name}")
    unset = subprocess.run(["bash", "-c", script], cwd=tmp_path, check=False, env={"PATH": path})
    assert unset.returncode != 0


@pytest.mark.parametrize(
    ("code", "restarts", "requeued"),
    [(0, 0, False), (3, 0, False), (137, 0, True), (137, 3, False)],
)
def test_a_part_that_was_killed_is_requeued_a_few_times(
    code: int, restarts: int, requeued: bool, tmp_path: Path
) -> None:
    script = write_job(JOB, "slurm").partition("<<'PART'\n")[2].partition("\nPART\n")[0]
    fake = f'prime() {{ return {code}; }}; scontrol() {{ echo "$@"; }}; SLURM_JOB_ID=7\n'
    done = subprocess.run(
        ["bash", "-c", f"SLURM_RESTART_COUNT={restarts}; {fake}{script}"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout) == (code, "requeue 7\n" if requeued else "")


def test_the_command_of_a_part_is_what_was_typed() -> None:
    assert JOB.part("2/8", "parts")[3:] == [
        *("ada/wordle@1.2", "--model", "gpt-4.1-mini", "--num-examples", "100"),
        *("--env-args", '{"name":"it\'s","n":3}', "--env-var", "JUDGE_KEY", "--no-fail-fast"),
        *("--resume", "--shard", "2/8", "--output-dir", "parts"),
    ]


def test_the_name_is_that_of_the_evaluation() -> None:
    assert JOB.name.startswith("prime-wordle-")
    assert replace(JOB, lock=None).name == JOB.name
    assert replace(JOB, shards=9).name != JOB.name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shard": "1/2"}, "omit"),
        ({"headers": ("Authorization: Bearer x",)}, "--header"),
        ({"base_url": "https://h/v1?key=x"}, "parameters of `-b`"),
        ({"debug": True}, "--debug"),
        ({"env_args": {"judge": {"api_key": "sk-" + "x" * 40}}}, "`--env-args`"),
        ({"model": "known-to-be-secret"}, "`--model`"),
    ],
)
def test_what_may_hold_a_secret_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    planted = {"OPENAI_API_KEY": "known-to-be-secret", "PRIME_API_KEY": "it"}
    with pytest.raises(UsageError) as refused:
        job_of(replace(REQUEST, **change), 2, key=None, cwd=tmp_path, environ=planted)
    assert said in f"{refused.value.message} {refused.value.hint}"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


@example({"X": "0\n\x1e"})
@given(
    st.dictionaries(
        st.text("abcXYZ_", min_size=1, max_size=8),
        st.recursive(
            TEXTS | st.integers() | st.none() | st.booleans(),
            lambda inner: (
                st.lists(inner, min_size=1, max_size=3)
                | st.dictionaries(TEXTS, inner, min_size=1, max_size=3)
            ),
            max_leaves=8,
        ),
        min_size=1,
    )
)
def test_what_is_written_as_yaml_is_read_as_the_same(value: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(value) + "\n") == value


@pytest.fixture
def in_folder(prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prime:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("JUDGE_KEY", "judge-planted")
    return lambda *words: prime(*words, cwd=tmp_path)  # type: ignore[return-value]


@pytest.mark.parametrize("engine", WRITERS)
def test_a_printed_job_names_keys_and_holds_none(in_folder: Prime, engine: str) -> None:
    words = "eval run ada/wordle@1.2 -m gpt-4.1-mini --env-var JUDGE_KEY --shards 4 --print-job"
    done = in_folder(*words.split(), engine).ok()
    assert "OPENAI_API_KEY" in done.out
    assert "JUDGE_KEY" in done.out
    assert "planted" not in done.out + done.err


def test_a_model_server_of_this_machine_is_said_to_be_another_on_each_node(
    in_folder: Prime,
) -> None:
    words = "eval run ada/wordle@1.2 -m m -k JUDGE_KEY --shards 4 --print-job slurm -b"
    assert (
        "each node will call its own" in in_folder(*words.split(), "http://[::1]:8000/v1").ok().err
    )
    assert "its own" not in in_folder(*words.split(), "http://models.lab/v1").ok().err


def test_a_part_uses_the_hub_and_the_network_that_were_typed(in_folder: Prime) -> None:
    words = "eval run ada/wordle@1.2 -m gpt-4.1-mini --shards 4 --print-job kubernetes"
    done = in_folder(*words.split(), *"--context lab --offline -v --yes".split()).ok()
    parts = next(each for each in documents(done.out) if each["kind"] == "Job")
    command = parts["spec"]["template"]["spec"]["containers"][0]["command"]
    at = command.index("--context")
    assert command[at : at + 5] == ["--context", "lab", "--offline", "--verbose", "--yes"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ada/wordle --shards 4", "need each other"),
        ("ada/wordle --print-job slurm", "need each other"),
        ("many.toml --print-job slurm --shards 4", "a suite has no parts"),
        ("ada/wordle --print-job slurm --shards 4 --push", "do not apply to a job"),
        ("ada/wordle --print-job slurm --shards 4 --env-var K=v", "the values of variables"),
    ],
)
def test_what_is_no_job_is_refused(in_folder: Prime, words: str, said: str) -> None:
    done = in_folder("eval", "run", *words.split())
    assert (done.code, said in done.err) == (2, True)
