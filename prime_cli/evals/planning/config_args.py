"""verifiers' own configuration on our command line: dotted flags, and `@ FILE`.

They are collected as they stand. The environment's release resolves them in its interpreter; what
they set is then set in the request, as our own flags would.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.envs.bundled import bundled_name
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.plan import ALL

_FILE_SIGN = "@"


def is_config_file(path: Path) -> bool:
    """Whether `path` is a configuration of verifiers, and not a suite of ours or something else."""
    if path.suffix == ".json":
        return True
    if path.suffix != ".toml" or not path.is_file():
        return False
    try:
        return isinstance(_load(path).get("env"), dict)
    except UsageError:
        return False


@dataclass(frozen=True)
class ConfigArgs:
    """The `words` for verifiers, with names of `files` in place of paths; `files` are JSON.

    `tasksets` are the ids of tasksets in both.
    """

    words: tuple[str, ...]
    files: Mapping[str, str]
    tasksets: tuple[str, ...]

    @property
    def typed(self) -> frozenset[str]:
        """The paths of the flags among the words, such as `env.agent.model`."""
        flags = (word[2:].partition("=")[0] for word in self.words if word.startswith("--"))
        return frozenset(flag.replace("-", "_") for flag in flags)


def read_config_args(args: Iterable[str]) -> ConfigArgs:
    """Read the files that `args` name; raises NotFound and UsageError."""
    words: list[str] = []
    files: dict[str, str] = {}
    tasksets = []
    names = iter(args)
    for word in names:
        words.append(word)
        if word == _FILE_SIGN:
            is_nested = len(words) > 1 and words[-2].startswith("--") and "=" not in words[-2]
            content = _load(Path(next(names)).expanduser())
            words.append(f"config-{len(files)}.json")
            files[words[-1]] = json.dumps(content)
            tasksets += [] if is_nested else _ids_in(content)
        elif word.startswith("--env.taskset.id="):
            tasksets.append(word.partition("=")[2])
        elif len(words) > 1 and words[-2] == "--env.taskset.id":
            tasksets.append(word)
    return ConfigArgs(tuple(words), files, tuple(tasksets))


def tasksets_in(args: Iterable[str]) -> tuple[str, ...]:
    """The ids of tasksets in `args` and their files; raises as read_config_args."""
    return read_config_args(args).tasksets


def config_flags(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The values of a configuration that are set, each with its flag."""
    return [
        (f"--{path.replace('_', '-')}", _written(value))
        for path, value in _leaves(config, ())
        if value not in (None, [], {}, "")
    ]


def flag_defaults(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, str]:
    """{flag: its default} of a whole configuration; empty for none, and for what was `given`."""
    return {
        f"--{path.replace('_', '-')}": ""
        if value in (None, [], {}, "") or _look_up(given, path)[0]
        else _written(value)
        for path, value in _leaves(config, ())
    }


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    else:
        yield ".".join(path), value


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _ids_in(content: Mapping[str, Any]) -> list[str]:
    env = content.get("env")
    taskset = env.get("taskset") if isinstance(env, dict) else None
    found = taskset.get("id") if isinstance(taskset, dict) else None
    return [found] if isinstance(found, str) and found else []


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise NotFound(f"There is no file {path}", hint="pass a configuration: `@ eval.toml`")
    parsers: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": json.loads}
    parse = parsers.get(path.suffix)
    if parse is None:
        raise UsageError(f"{path} is neither a .toml nor a .json file")
    with storage_errors(path):
        content = path.read_bytes()
    try:
        found = parse(content.decode())
    except ValueError as error:
        raise UsageError(f"{path} is not {path.suffix[1:].upper()}: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} has no table of settings")
    return found


def check_taskset(args: ConfigArgs, module: str) -> None:
    """Raise UsageError if the words or files name another taskset than `module`."""
    own = bundled_name(module)
    for name in args.tasksets:
        if module_of(name) not in (module, own):
            raise UsageError(
                f"`{name}` and `{own}` are two tasksets, and an evaluation has one",
                hint="drop one: the argument ENVIRONMENT, or `env.taskset.id`",
            )


def module_of(taskset: str) -> str:
    """The import name in the id of a taskset: `my_env` of `owner/my-env@1.0`."""
    return taskset.rpartition("/")[2].partition("@")[0].replace("-", "_").lower()


# --- What the configuration sets in a request -----------------------------------------------------

_FIELDS = {
    "model": "model",
    "num_rollouts": "rollouts_per_example",
    "max_concurrent": "max_concurrent",
    "num_tasks": "num_examples",
    "select.limit": "num_examples",
    "client.base_url": "base_url",
    "client.api_key_var": "key_var",
    "output_dir": "output_dir",
}
"""{path in the configuration: field of EvalRequest}."""

_UNUSED = {
    "run": "a run has an id of its own; name it with `--tag`",
    "rich": "there is one display of progress",
    "serve": "one process runs all rollouts",
    "verbose": "use `--verbose`",
    "client.timeout": "use `--call-timeout`",
    "push": "use `--push`",
}
"""{path: what there is instead}: what does not change a result is said, and not refused."""


def with_config(
    request: EvalRequest, given: Mapping[str, Any], args: ConfigArgs, environ: Mapping[str, str]
) -> tuple[EvalRequest, list[str]]:
    """`request` with what `given` sets, and sentences about what is not used.

    A typed flag precedes a file. Raises UsageError for what a flag of ours and one of verifiers set
    to different values, and for a client that only trains.
    """
    found: dict[str, Any] = {}
    for path, name in _FIELDS.items():
        is_set, value = _look_up(given, path)
        if is_set:
            found[name] = ALL if name == "num_examples" and value is None else value
    if found.get("max_concurrent", 1) is None:
        del found["max_concurrent"]
    env = dict(given.get("env", {}))
    taskset = {name: value for name, value in env.pop("taskset", {}).items() if name != "id"}
    found |= {
        "sampling": _only_set(given.get("sampling", {})),
        "env_args": taskset,
        "extra_args": env,
        "headers": tuple(_headers(given, environ)),
        **_selection(given.get("select", {}), is_shuffled=bool(given.get("shuffle"))),
    }
    if given.get("client", {}).get("type") == "train":
        raise UsageError(
            "`--client.type train` calls the server of a training", hint="use `prime train`"
        )
    merged = {name: _merged(request, name, value, args) for name, value in found.items() if value}
    return replace(request, config_args=(), **merged), list(_unused(given, args))


def _look_up(values: Mapping[str, Any], path: str) -> tuple[bool, Any]:
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return False, None
        found = found[name]
    return True, found


def _only_set(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _headers(given: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[str]:
    """As verifiers sends them: a variable that is set wins over a value in the configuration."""
    client = given.get("client", {})
    named = client.get("headers_from_env") or {}
    values = {name: environ[variable] for name, variable in named.items() if variable in environ}
    for name, value in {**(client.get("headers") or {}), **values}.items():
        yield f"{name}: {value}"


def _selection(select: Mapping[str, Any], *, is_shuffled: bool) -> dict[str, Any]:
    """Our own flag where it draws the same tasks, else what verifiers itself selects by."""
    parts = {name: select.get(name) for name in ("include", "exclude", "skip")}
    seed = select.get("seed") or 0
    shuffles = is_shuffled or bool(select.get("shuffle"))
    if any(parts.values()):
        order = {"shuffle": True, "seed": seed} if shuffles else {}
        return {"select": {**_only_set(parts), **order}}
    return {"shuffle": str(seed) if shuffles else None}


def _merged(request: EvalRequest, name: str, value: Any, args: ConfigArgs) -> Any:
    """`value`, unless the flag of the field `name` is set; tables are merged."""
    ours = getattr(request, name)
    if name == "headers":
        return (*value, *ours)
    if isinstance(value, dict):
        return merge_tables(value, ours or {})
    if name == "shuffle":
        value = int(value)
    if ours is None or ours == value:
        return value
    paths = [path for path, field in _FIELDS.items() if field == name and path in args.typed]
    if paths:
        flag = paths[0].replace("_", "-")
        raise UsageError(
            f"`--{flag}` is {value} and `--{name.replace('_', '-')}` {ours}",
            hint="set one of them",
        )
    return ours


def merge_tables(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` updated with `over`, table by table."""
    found = dict(base)
    for name, value in over.items():
        before = found.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        found[name] = merge_tables(before, value) if both else value  # type: ignore[arg-type]
    return found


def _unused(given: Mapping[str, Any], args: ConfigArgs) -> Iterator[str]:
    """A sentence for each that was typed, and one for those of files, which often have all."""
    paths = [path for path in _UNUSED if _look_up(given, path)[0]]
    typed = [
        path for path in paths if any(f"{each}.".startswith(f"{path}.") for each in args.typed)
    ]
    yield from (f"`{path}` is not used: {_UNUSED[path]}" for path in typed)
    if others := ", ".join(f"`{path}`" for path in paths if path not in typed):
        yield f"Not used of the configuration: {others}"
