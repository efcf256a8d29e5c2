"""Pushes to a Hub on this machine, by a process: huggingface_hub reads its settings once."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.helpers.cli import Result, prime_process
from tests.helpers.hugging_face import HuggingFace
from tests.runs.rows import row
from tests.runs.saving import save_run


@pytest.fixture
def hub() -> Iterator[HuggingFace]:
    with HuggingFace() as hub:
        yield hub


@pytest.fixture
def here(tmp_path: Path) -> Path:
    save_run(tmp_path, row(0, 0, 1.0), row(1, 0, None), examples=2)
    return tmp_path


def settings(hub: HuggingFace, folder: Path, key: str = "hf_key") -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": key,
        "HF_HOME": str(folder / "hf"),
        # Its own transfer of large files speaks to servers of a kind that is not here.
        "HF_HUB_DISABLE_XET": "1",
    }


def push(hub: HuggingFace, here: Path, *flags: str, key: str = "hf_key") -> Result:
    return prime_process("eval", "export", "-H", *flags, cwd=here, env=settings(hub, here, key))


def test_a_push_is_one_commit_to_a_private_data_set_named_as_vf_eval_names_it(
    hub: HuggingFace, here: Path
) -> None:
    done = push(hub, here, "--output", "json").ok()
    ((name, dataset),) = hub.datasets.items()
    assert name == "ada/wordle_org_model_n2_r2"
    assert done.json["url"] == f"{hub.url}/datasets/{name}"
    assert dataset.private
    assert dataset.commits == ["Upload an evaluation"]
    content = dataset.files["data/train-00000-of-00001.parquet"]
    assert pq.read_table(BytesIO(content)).column("reward").to_pylist() == [1.0, None]
    assert b"pretty_name" in dataset.files["README.md"]
    assert hub.keys == {"hf_key"}


def test_a_second_push_replaces_the_first_and_keeps_who_may_see_it(
    hub: HuggingFace, here: Path
) -> None:
    done = push(hub, here, "-D", "me/wordle", "--public").ok()
    assert f"is now public: {hub.url}/datasets/me/wordle" in done.err
    files = hub.datasets["me/wordle"].files
    files["data/train-00001-of-00002.parquet"] = files["data/mine.parquet"] = b"older"
    again = push(hub, here, "-D", "me/wordle", "--output", "json").ok()
    assert again.json["is_public"]
    assert "is now public" in again.err
    assert not hub.datasets["me/wordle"].private
    assert set(files) == {"README.md", "data/mine.parquet", "data/train-00000-of-00001.parquet"}


def test_a_private_data_set_stays_so_and_says_it(hub: HuggingFace, here: Path) -> None:
    assert "public" not in push(hub, here, "-D", "me/wordle").ok().err
    again = push(hub, here, "-D", "me/wordle", "--public").ok()
    assert "is now public" not in again.err
    assert "private, which `--public` does not change" in again.err
    assert hub.datasets["me/wordle"].private


def test_a_refusal_says_why_without_the_key(hub: HuggingFace, here: Path) -> None:
    hub.refuse = 403
    refused = push(hub, here, "-D", "me/wordle")
    assert refused.code == 4
    assert "rights" in refused.err
    assert "hf_key" not in refused.err


def test_without_a_key_nothing_is_asked(hub: HuggingFace, here: Path) -> None:
    refused = push(hub, here, key="")
    assert refused.code == 4
    assert "HF_TOKEN" in refused.err
    assert not hub.keys


def test_a_hub_that_is_down_is_not_reached(here: Path) -> None:
    with HuggingFace() as gone:
        pass
    refused = push(gone, here)
    assert refused.code == 5
    assert "was not reached" in refused.err


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_a_run_is_pushed_when_it_has_ended(hub: HuggingFace, tmp_path: Path) -> None:
    argv = ("starter/alphabet-sort", "-m", "builtin/oracle", "-n", "2", "-r", "2", "-H")
    done = prime_process("eval", "run", *argv, cwd=tmp_path, env=settings(hub, tmp_path)).ok()
    ((name, dataset),) = hub.datasets.items()
    assert name == "ada/alphabet-sort_builtin_oracle_n2_r2"
    assert f"{hub.url}/datasets/{name}" in done.err
    content = dataset.files["data/train-00000-of-00001.parquet"]
    assert pq.read_table(BytesIO(content)).column("reward").to_pylist() == [1.0] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_a_push_that_is_refused_leaves_the_run_and_its_exit_code(
    hub: HuggingFace, tmp_path: Path
) -> None:
    hub.refuse = 403
    argv = ("starter/alphabet-sort", "-m", "builtin/oracle", "-n", "1", "-H", "-D", "me/x")
    done = prime_process("eval", "run", *argv, cwd=tmp_path, env=settings(hub, tmp_path)).ok()
    assert "rights" in done.err
    (run,) = tmp_path.glob("outputs/evals/*/*")
    assert f"prime eval export {run.name} -H -D me/x" in done.err
    assert (run / "results.jsonl").is_file()


def test_without_a_key_a_run_ends_before_it_begins(hub: HuggingFace, tmp_path: Path) -> None:
    argv = ("starter/alphabet-sort", "-m", "builtin/oracle", "-H")
    told = settings(hub, tmp_path, key="")
    assert prime_process("eval", "run", *argv, cwd=tmp_path, env=told).code == 4
    assert not (tmp_path / "outputs").exists()


def test_a_name_that_cannot_be_one_is_a_usage_error(hub: HuggingFace, here: Path) -> None:
    assert push(hub, here, "-D", "a/b/c").code == 2
