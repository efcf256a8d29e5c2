"""v1 environments (verifiers 0.3 and later): tasks, and episodes by `run_slot`."""

import dataclasses
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from . import failures, rows, v1_config, v1_restore
from .deadlines import Deadline, RolloutTimeout, ScoringTimeout, limit_scoring
from .examples import MOST_COMPARED, Examples, SurveyedExample, line_of
from .jsonable import plain
from .judges import judges_of_config
from .processes import free_mb, processes_that_fit
from .request_identity import ROLE_HEADER, RolloutIdentity, acting_for
from .rows import Row
from .spec import WorkerSpec
from .v0_rescore import SavedRollouts
from .v1_harness import prepare, settle
from .v1_rows import error_of, known_of, stopped_scoring

KEY_VARIABLE = "PRIME_RUN_TOKEN"


class V1:
    """A loaded v1 environment, ready to run episodes."""

    family = "v1"
    unit = "episode"

    def __init__(self, spec: WorkerSpec, module: Any) -> None:
        del module  # tasksets are found by name
        self._spec = spec
        os.environ[KEY_VARIABLE] = spec.token
        loaders = _loaders()
        settle(spec)
        self._saved = None if spec.saved is None else SavedRollouts(spec.saved)
        self._config, agents = v1_config.build(spec)
        try:
            self.environment = loaders.load_environment(self._config)
            self.examples: Examples = dict(enumerate(self._read_tasks()))
        except failures.StageFailed:
            raise
        except BaseException as error:
            raise failures.StageFailed("load", error) from error
        agents = v1_config.as_loaded(agents, self.environment.config)
        self.harness = v1_config.describe(agents)
        self.agents = v1_config.to_dicts(agents)
        self._by_process = any(not agent.in_process for agent in agents)
        self._prepared_here = v1_config.local_agents(agents)
        for kind in {type(task) for task in self.examples.values()}:
            limit_scoring(kind, spec.score_s, ("score",))
        self.lanes = spec.concurrency
        if self._by_process:
            self.lanes = processes_that_fit(spec.concurrency, free_mb())
        self._shared = self._context(spec.base_url)
        _name_roles(self.environment, spec)

    @property
    def answers(self) -> dict[str, Any]:
        """{index of an example: its gold answer}, for tasks whose data has an `answer`."""
        gold = {str(i): self.gold(i)[0] for i in self.examples}
        return {i: answer for i, answer in gold.items() if answer not in (None, "")}

    @property
    def lines(self) -> Iterator[bytes]:
        """What a fingerprint is made of, task by task."""
        return (line_of(_data(task)) for task in self.examples.values())

    @property
    def described(self) -> list[SurveyedExample]:
        """The tasks as `survey` reads them."""
        return list(map(_described, self.examples.values()))

    @property
    def splits(self) -> dict[str, list[SurveyedExample]]:
        """The tasks by each value that its config has for the split; else those of the one."""
        taskset = self.environment.taskset
        most = self._spec.n if getattr(taskset, "INFINITE", False) else MOST_COMPARED
        each = v1_config.splits_of(taskset.config)
        found = {value: type(taskset)(config) for value, config in each.items()} or {"": taskset}
        return {
            name: list(map(_described, itertools.islice(_tasks_of(every), most)))
            for name, every in found.items()
        }

    @property
    def weights(self) -> dict[str, float] | None:
        """{name of a reward: its weight} of the first task; None if judges take part."""
        task = next(iter(self.examples.values()))
        if not hasattr(task, "hooks") or getattr(task.config, "judges", None):
            return None
        rewards = task.hooks("reward")
        return {hook.__name__: float(getattr(hook, "_vf_weight", 1.0)) for hook in rewards}

    @property
    def judges(self) -> list[dict[str, str]]:
        """Those that the config declares."""
        return judges_of_config(self.environment.config)

    @property
    def rules(self) -> list[Any]:
        """The rewards of the first task."""
        task = next(iter(self.examples.values()))
        return list(task.hooks("reward")) if hasattr(task, "hooks") else []

    def gold(self, example: int) -> tuple[Any, dict[str, Any]]:
        """(answer, the task's data) of an example, for an oracle."""
        data = _data(self.examples[example])
        return data.get("answer"), data

    async def serve(self, run: Callable[[], Awaitable[None]]) -> None:
        if self._spec.program or self._saved is not None:  # no agent runs
            await run()
            return
        await prepare(self._prepared_here, self.environment)
        async with self.environment.serving():
            await run()

    async def run_unit(self, example: int, rollouts: list[int], attempt: int) -> list[Row]:
        """The rows of one episode (one row); failures are rows as well."""
        identity = RolloutIdentity(example, rollouts[0], attempt)
        task = self.examples[example]
        if self._saved is not None:
            return [self._restored(identity, task, self._saved.find(example, rollouts[0]))]
        try:
            with acting_for(identity), Deadline(self._spec.timeout_s, self._late()):
                episode = await self._run_episode(task, identity)
            known = {**_fields(task), **known_of(episode)}
            if not episode.ok and not self.environment.complete(episode):
                known["error"] = error_of(episode)
            elif stopped_scoring(episode):
                late = ScoringTimeout("scoring took longer than the environment allows")
                known["error"] = failures.describe(late, in_scoring=True)
        except BaseException as error:
            if failures.is_cancellation(error):
                raise
            return [rows.failed(identity, error, **_fields(task))]
        return [rows.finished(identity, **known)]

    def _restored(self, identity: RolloutIdentity, task: Any, saved: Row) -> Row:
        """A row whose state holds the episode of a saved one."""
        try:
            state = v1_restore.restore(self._config, task, saved, self._spec.base_url)
        except Exception as error:  # its message names what the release refuses
            return rows.failed(identity, error)
        return rows.finished(identity, reward=0.0, state=state)

    def _late(self) -> RolloutTimeout:
        return RolloutTimeout(f"took longer than {self._spec.timeout_s} s")

    async def _run_episode(self, task: Any, identity: RolloutIdentity) -> Any:
        slot = self.environment.slots(task, 1)[0]
        return await self.environment.run_slot(slot, self._context_for(identity))

    def _read_tasks(self) -> list[Any]:
        taskset, n = self.environment.taskset, self._spec.n
        if n < 0 and getattr(taskset, "INFINITE", False):
            error = failures.BadArguments(
                "the taskset is endless: give a number of examples, without a shuffle"
            )
            raise failures.StageFailed("arguments", error)
        if self._spec.seed is not None:
            taskset = taskset.shuffle(self._spec.seed)
        if self._spec.options.get("select"):
            taskset = _selected(taskset, self._spec.options["select"])
        found = list(itertools.islice(_tasks_of(taskset), n if n >= 0 else None))
        if not found:
            raise failures.StageFailed("load", ValueError("the taskset has no tasks"))
        return found

    def _context_for(self, identity: RolloutIdentity) -> Any:
        """In one process the calls carry headers; other harnesses get a base URL of their own."""
        if not self._by_process:
            return self._shared
        root = self._spec.base_url[: -len("/v1")]
        return self._context(f"{root}/{identity.path}/v1")

    def _context(self, base_url: str) -> Any:
        # By their public names: their modules differ between releases.
        from verifiers.v1 import EvalClientConfig, ModelContext, SamplingConfig

        return ModelContext(
            model=self._spec.model,
            client=EvalClientConfig(base_url=base_url, api_key_var=KEY_VARIABLE),
            sampling=SamplingConfig(**self._spec.sampling),
        )


def _name_roles(environment: Any, spec: WorkerSpec) -> None:
    """Have agents with models of their own say which of them calls, by a header of their client."""
    by_release = environment.setup
    root = spec.base_url[: -len("/v1")]

    async def setup(agents: Any) -> None:
        for name in v1_config.roles(environment.config):
            agent = getattr(agents, name)
            client = agent.ctx.client
            if agent.ctx.model != spec.model and client.base_url.startswith(root):
                named = client.model_copy(update={"headers": {**client.headers, ROLE_HEADER: name}})
                agent.ctx = dataclasses.replace(agent.ctx, client=named)
        await by_release(agents)

    environment.setup = setup


def _loaders() -> Any:
    try:
        from verifiers.v1.utils import loaders
    except ImportError as error:
        raise failures.StageFailed("import", error) from error
    if not hasattr(loaders, "resolve_env_config"):
        problem = ImportError("v1 environments need verifiers 0.3.0 or later")
        raise failures.StageFailed("import", problem)
    return loaders


def _selected(taskset: Any, select: dict[str, Any]) -> Any:
    """Those that verifiers selects; raises StageFailed("arguments") for what it refuses."""
    try:
        from verifiers.v1.configs.select import SelectConfig

        return taskset.select(SelectConfig(**select))
    except (ImportError, ValueError) as error:
        raise failures.StageFailed("arguments", failures.BadArguments(str(error))) from error


def _tasks_of(taskset: Any) -> Iterator[Any]:
    return iter(taskset if hasattr(taskset, "__iter__") else taskset.load())


def _described(task: Any) -> SurveyedExample:
    data = _data(task)
    prompt, answer = data.pop("prompt", None), data.pop("answer", None)
    data.pop("idx", None)
    return SurveyedExample(prompt, answer, data)


def _fields(task: Any) -> dict[str, Any]:
    """What a row records about its task, whether or not it was scored."""
    data = _data(task)
    return {
        "prompt": data.get("prompt"),
        "answer": data.get("answer"),
        "info": {name: data[name] for name in data if name not in ("prompt", "answer")},
        "task": type(task).__name__,
    }


def _data(task: Any) -> dict[str, Any]:
    return dict(plain(task.data.model_dump(mode="json", exclude_defaults=True)))
