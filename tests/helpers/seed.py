"""The seed of all that tests choose by chance: `PRIME_TEST_SEED=…` repeats a run's choices.

Each run prints its own. `@pytest.mark.sample(N, "version")` keeps the cases of N
values of the parameter `version`, chosen by the seed for each test function anew;
`@pytest.mark.cases(N)` keeps N of what is left, whatever the parameters are.
`PRIME_TEST_SHARE=0.15` keeps that share of the tests of each file, one at least.
`PRIME_TEST_ALL=1` keeps every case, and hypothesis makes 100 examples instead of 40.
"""

import math
import os
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pytest

SEED = "PRIME_TEST_SEED"
ALL = "PRIME_TEST_ALL"
SHARE = "PRIME_TEST_SHARE"


def set_seed() -> None:
    """Choose a seed unless one is given; processes started later inherit it."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))


def read_seed() -> int:
    return int(os.environ[SEED])


def runs_every_case() -> bool:
    return bool(os.environ.get(ALL))


def split_sample(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Those of `items` to run, in their order, and those that the seed leaves out."""
    matrices: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        matrices[item.nodeid.partition("[")[0]].append(item)
    left_out: set[str] = set()
    for name, cases in matrices.items():
        for marker in _markers(cases[0], "sample"):
            left_out |= _left_out(name, cases, *marker.args)
        kept = [case.nodeid for case in cases if case.nodeid not in left_out]
        for marker in _markers(cases[0], "cases"):
            left_out |= _all_but(name, kept, *marker.args)
    left_out |= _beyond_share([item.nodeid for item in items if item.nodeid not in left_out])
    return (
        [item for item in items if item.nodeid not in left_out],
        [item for item in items if item.nodeid in left_out],
    )


def _markers(item: pytest.Item, name: str) -> Iterator[pytest.Mark]:
    return iter(()) if runs_every_case() else item.iter_markers(name)


def _left_out(name: str, cases: Sequence[pytest.Item], wanted: int, parameter: str) -> set[str]:
    """The cases of `name` with a value of `parameter` that is not among `wanted` chosen ones."""
    values = list(dict.fromkeys(_value(case, parameter) for case in cases))
    if None in values or len(values) <= wanted:
        return set()
    chosen = random.Random(f"{read_seed()} {name} {parameter}").sample(values, wanted)
    return {case.nodeid for case in cases if _value(case, parameter) not in chosen}


def _all_but(name: str, cases: Sequence[str], wanted: int) -> set[str]:
    if len(cases) <= wanted:
        return set()
    return set(cases) - set(random.Random(f"{read_seed()} {name}").sample(cases, wanted))


def _beyond_share(names: Sequence[str]) -> set[str]:
    """What is left out of each file, if a run is to have a share of the tests."""
    share = 1.0 if runs_every_case() else float(os.environ.get(SHARE, "1"))
    files: dict[str, list[str]] = defaultdict(list)
    for name in names:
        files[name.partition("::")[0]].append(name)
    left_out: set[str] = set()
    for file, tests in files.items():
        left_out |= _all_but(file, tests, math.ceil(share * len(tests)))
    return left_out


def _value(case: pytest.Item, parameter: str) -> str | None:
    """What `case` is given for `parameter`, as text that sorts and compares; None without it."""
    if not isinstance(case, pytest.Function) or not hasattr(case, "callspec"):
        return None
    given = case.callspec.params
    return str(given[parameter]) if parameter in given else None
