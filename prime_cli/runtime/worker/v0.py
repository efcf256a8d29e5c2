"""v0 environments: load, look at the examples, run rollouts through the family's adapter."""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from . import failures, rows, v0_families
from .client import policy_client
from .deadlines import Deadline, RolloutTimeout, limit_scoring
from .environment import OWN_SPLITS, load_v0
from .examples import MOST_COMPARED, Examples, SurveyedExample, line_of
from .jsonable import plain
from .judges import judges_of_rubrics
from .request_identity import RolloutIdentity, acting_for
from .rows import Row
from .spec import WorkerSpec
from .v0_families import FamilyA, FamilyB, FamilyBEarly, FamilyC, usage_of, was_truncated
from .v0_rescore import SavedRollouts, replay_rollouts
from .v0_watch import UnitTrace, current_unit, watch_rollouts, watch_scoring

FINGERPRINTED = ("prompt", "answer", "info", "task")
FAMILIES = (FamilyC, FamilyB, FamilyBEarly, FamilyA)


class V0:
    """A loaded v0 environment, ready to run units of work."""

    harness = None
    agents = ()

    def __init__(self, spec: WorkerSpec, module: Any) -> None:
        self._spec = spec
        self.environment = load_v0(spec, module)
        self.examples: Examples = dict(enumerate(read_examples(self.environment, spec)))
        self._family = next(cls for cls in FAMILIES if cls.fits(self.environment))(
            self.environment, spec, policy_client(spec)
        )
        self.family = self._family.name
        by_group = v0_families.scores_groups(self.environment) and not spec.independent_scoring
        self.unit = "group" if by_group else "rollout"
        self.lanes = spec.concurrency
        if by_group:
            self.lanes = max(1, spec.concurrency // spec.r)
        self._weights = v0_families.reward_weights(self.environment)
        saved = None if spec.saved is None else SavedRollouts(spec.saved)
        for environment in v0_families.members_of(self.environment):
            if saved is not None:
                replay_rollouts(environment, saved, run_rest=spec.run_rest)
            watch_rollouts(environment)
        watch_scoring()
        for rubric in v0_families.outer_rubrics(self.environment):
            limit_scoring(rubric, spec.score_s)
        if hasattr(self.environment, "set_concurrency"):
            self.environment.set_concurrency(spec.concurrency)

    @property
    def answers(self) -> dict[str, Any]:
        """{index of an example: its gold answer}, for those that have one."""
        gold = {str(i): plain(row.get("answer")) for i, row in self.examples.items()}
        return {i: answer for i, answer in gold.items() if answer not in (None, "")}

    @property
    def lines(self) -> Iterator[bytes]:
        """What a fingerprint is made of, example by example."""
        for row in self.examples.values():
            yield line_of({name: plain(row.get(name)) for name in FINGERPRINTED})

    @property
    def described(self) -> list[SurveyedExample]:
        """The examples as `survey` reads them."""
        return list(map(_described, self.examples.values()))

    @property
    def splits(self) -> dict[str, list[SurveyedExample]]:
        """Its own data to train and to evaluate on; what was read where it has neither."""
        own = [name for name in OWN_SPLITS if _has(self.environment, _dataset_of(name))]
        read = {name: _read(_reader(self.environment, name), MOST_COMPARED) for name in own}
        return {name: list(map(_described, rows)) for name, rows in read.items()} or {
            "": self.described
        }

    @property
    def weights(self) -> dict[str, float] | None:
        """{name of a reward function: its weight}; None for a group of environments."""
        return None if getattr(self.environment, "envs", None) else self._weights

    @property
    def judges(self) -> list[dict[str, str]]:
        """Those that its rubrics declare."""
        return judges_of_rubrics(v0_families.rubrics_of(self.environment))

    @property
    def rules(self) -> list[Any]:
        """The reward functions of all rubrics."""
        return v0_families.reward_functions(self.environment)

    def gold(self, example: int) -> tuple[Any, Any]:
        """(answer, info) of an example, for an oracle."""
        row = self.examples[example]
        return row.get("answer"), _info(row.get("info"))

    async def run_unit(self, example: int, rollouts: list[int], attempt: int) -> list[Row]:
        """Rows of the example's `rollouts`, scored together; failures are rows as well."""
        identities = [RolloutIdentity(example, rollout, attempt) for rollout in rollouts]
        unit = UnitTrace(identities)
        current_unit.set(unit)
        try:
            alone = identities[0] if len(identities) == 1 else None
            with acting_for(alone), Deadline(self._spec.timeout_s, self._late()):
                found = await self._family.run(self.examples[example], example, len(rollouts))
            return [self._finished(unit, i, found[i]) for i in range(len(rollouts))]
        except BaseException as error:
            if failures.is_cancellation(error):
                raise
            return [self._failed(unit, i, error) for i in range(len(rollouts))]
        finally:
            await unit.end()

    async def serve(self, run: Callable[[], Awaitable[None]]) -> None:
        await run()

    def _late(self) -> RolloutTimeout:
        return RolloutTimeout(f"took longer than {self._spec.timeout_s} s")

    def _finished(self, unit: UnitTrace, position: int, outcome: dict[str, Any]) -> Row:
        state: dict[str, Any] = unit.states[position] or {}
        known = self._known(unit, position, state)
        known.update(outcome)
        error = failures.error_in(state)
        if error is not None:
            known["error"] = _state_error(error)
        raised = self._raised(unit, known)
        if known.get("error") is None and raised is not None:
            known["error"] = failures.describe(raised, in_scoring=True)
        return rows.finished(unit.identities[position], **known)

    def _failed(self, unit: UnitTrace, position: int, error: BaseException) -> Row:
        own = unit.errors[position]
        if own is None and any(unit.errors):
            own = failures.GroupFailed("another rollout of the group failed")
            own.__cause__ = error
        state = unit.states[position] or {}
        known = self._known(unit, position, state)
        known["reward"] = None
        had = unit.errors[position] is None and bool(state) and state.get("error") is None
        return rows.failed(unit.identities[position], own or error, in_scoring=had, **known)

    def _known(self, unit: UnitTrace, position: int, state: Any) -> dict[str, Any]:
        """What can be said of a rollout whether or not it was scored."""
        row = self.examples[unit.identities[position].example]
        return {
            "prompt": row.get("prompt"),
            "completion": state.get("completion"),
            "answer": plain(row.get("answer")),
            "info": plain(_info(row.get("info"))),
            "task": plain(row.get("task")),
            "timing": rows.seconds(state.get("timing")),
            "usage": usage_of(state),
            "stop_condition": state.get("stop_condition"),
            "is_truncated": was_truncated(state),
            "state": {
                **rows.state_extras(state, _info(row.get("info"))),
                **{name: plain(state.get(name)) for name in self._spec.state_columns},
            },
        }

    def _raised(self, unit: UnitTrace, known: dict[str, Any]) -> Exception | None:
        """The failure of a reward function that counts; one with weight 0 only lacks a value."""
        known["metrics"] = {**(known.get("metrics") or {}), **dict.fromkeys(unit.raised)}
        for name, message in unit.raised.items():
            if self._weights.get(name, 1.0):
                error = unit.exceptions.get(name)
                if isinstance(error, failures.CodeExit):
                    return error
                cause = f"{type(error).__name__}: {message}" if error else message
                return failures.RewardFailed(f"{name}: {cause}", error)
        return None


_COMPARED = 64
"""Examples for evaluation that are looked for among those to train on."""


def read_examples(environment: Any, spec: WorkerSpec) -> list[Row]:
    """The rows of its data set that the run uses; raises StageFailed("load")."""
    options = {} if spec.seed is None else {"seed": spec.seed}
    try:
        found = _read(_reader(environment, spec.own_split), spec.n, **options)
        if spec.follow and spec.own_split == "train":
            spec.has_eval = _has_eval(environment, found)
        turns = getattr(environment, "max_turns", None)
        spec.max_turns = turns if isinstance(turns, int) and turns > 0 else None
    except failures.StageFailed:
        raise
    except BaseException as error:
        raise failures.StageFailed("load", error) from error
    if not found:
        raise failures.StageFailed("load", ValueError("the dataset has no examples"))
    return found


def _described(row: Row) -> SurveyedExample:
    rest = [_info(row.get("info")), row.get("task")]
    return SurveyedExample(plain(row.get("prompt")), plain(row.get("answer")), plain(rest))


def _read(read: Callable[..., Any], n: int, **options: Any) -> list[Row]:
    try:
        dataset = read(n=n, **options)
    except IndexError:  # up to 0.1.4, when there are fewer than n
        dataset = read(n=-1, **options)
    found: list[Row] = dataset.to_list() if hasattr(dataset, "to_list") else list(dataset)
    return found


def _reader(environment: Any, split: str | None) -> Callable[..., Any]:
    """What reads the examples: those for evaluation, else for training, unless one is asked."""
    name = _dataset_of(split)
    if split is not None and not _has(environment, name):
        problem = f"the environment has no data for the split `{split}`"
        raise failures.StageFailed("arguments", failures.BadArguments(problem))
    reader: Callable[..., Any] = getattr(environment, f"get_{name}")
    return reader


def _has_eval(environment: Any, trained: list[Row]) -> bool:
    """Whether there are examples to evaluate on that are not trained on."""
    if not _has(environment, "eval_dataset"):
        return False
    dataset = _read(environment.get_eval_dataset, _COMPARED)
    known = {repr(row.get("prompt")) for row in trained}
    return all(repr(row.get("prompt")) not in known for row in dataset)


def _dataset_of(split: str | None) -> str:
    return "dataset" if split == "train" else "eval_dataset"


def _has(environment: Any, name: str) -> bool:
    build = getattr(environment, f"build_{name}", None)  # since 0.1.10
    return (getattr(environment, name, None) if build is None else build()) is not None


def _state_error(error: Any) -> dict[str, Any]:
    if isinstance(error, BaseException):
        return failures.describe(error)
    return failures.describe(RuntimeError(str(plain(error))))


def _info(info: Any) -> Any:
    if isinstance(info, str):
        try:
            return json.loads(info)
        except ValueError:
            return info
    return info
