"""The cases that a seed chooses: as many values as asked for, the same for the same seed."""

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = """
from tests.helpers.seed import split_sample

def pytest_collection_modifyitems(items):
    items[:], _ = split_sample(items)
"""
CASES = """
import pytest

pytestmark = pytest.mark.sample(2, "version")

@pytest.mark.parametrize("mode", ["plain", "json"])
@pytest.mark.parametrize("version", range(20))
def test_of_each(version, mode):
    pass

@pytest.mark.cases(3)
@pytest.mark.parametrize("mode", ["plain", "json"])
@pytest.mark.parametrize("version", range(20))
def test_of_some(version, mode):
    pass

def test_without():
    pass
"""


def collect(folder: Path, **variables: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_cases.py").write_text(CASES, encoding="utf-8")
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-c", os.devnull, str(folder)],
        env=os.environ
        | {"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | variables,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_seed_chooses_values_of_one_parameter_and_leaves_the_others(tmp_path: Path) -> None:
    found = collect(tmp_path, PRIME_TEST_SEED="1")
    of_each = [case for case in found if "test_of_each" in case]
    assert len(of_each) == 4
    assert len({case.rpartition("-")[2] for case in of_each}) == 2
    assert collect(tmp_path, PRIME_TEST_SEED="1") == found
    assert "test_without" in found[-1]


def test_cases_are_chosen_of_those_that_a_sample_leaves(tmp_path: Path) -> None:
    found = [case for case in collect(tmp_path, PRIME_TEST_SEED="1") if "test_of_some" in case]
    assert len(found) == 3
    assert len({case.rpartition("-")[2] for case in found}) == 2


def test_other_seeds_choose_others(tmp_path: Path) -> None:
    seeds = [str(seed) for seed in range(4)]
    assert len({tuple(collect(tmp_path, PRIME_TEST_SEED=seed)) for seed in seeds}) > 1


def test_all_cases_run_on_request(tmp_path: Path) -> None:
    assert len(collect(tmp_path, PRIME_TEST_SEED="1", PRIME_TEST_ALL="1")) == 81


def test_a_share_of_each_file_is_chosen(tmp_path: Path) -> None:
    whole = collect(tmp_path, PRIME_TEST_SEED="1")
    half = collect(tmp_path, PRIME_TEST_SEED="1", PRIME_TEST_SHARE="0.5")
    assert (len(whole), len(half)) == (8, 4)
    assert set(half) < set(whole)
    assert collect(tmp_path, PRIME_TEST_SEED="2", PRIME_TEST_SHARE="0.01") != []
    assert len(collect(tmp_path, PRIME_TEST_SHARE="0.5", PRIME_TEST_ALL="1")) > len(whole)
