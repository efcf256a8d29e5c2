"""Run by an environment's interpreter: the configuration that verifiers' own evaluator would run.

One argument: JSON {"module": import name, "words": [...], "files": {name: its JSON}, "withheld":
[], "left_out": [], "nowhere": the address of clients for which none is set}, `words` being those
after `vf-eval MODULE`, with `files` behind each `@`. The last line on the first stdout is JSON:
{"config": the whole configuration, with agents on this machine where no runtime was chosen,
"given": what the words and files set of it} or {"error": what verifiers says, "field": the path
that it is about, "roles": those that the environment has, if the path names another one}.
"""

import importlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FIELD = re.compile(r"^--(\S+)\n  (.+)$", re.MULTILINE)
"""How verifiers lists what is wrong: the flag, and below it the reason."""


class ConfigRefused(Exception):
    """What verifiers does not take; `field` is the path that it is about, if any.

    `roles` are those that there are, if `field` names none of the environment's.
    """

    def __init__(self, reason: str, field: str = "", roles: "tuple[str, ...]" = ()) -> None:
        super().__init__(reason)
        self.field = field
        self.roles = roles


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    # From this folder, which an environment cannot see.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    try_import = importlib.import_module("try_import")
    del sys.path[0]
    try_import.prepare(request, [])
    try:
        result = resolve(request)
    except ConfigRefused as error:
        result = {"error": str(error), "field": error.field, "roles": error.roles}
    answers.write("\n" + json.dumps(result) + "\n")
    answers.flush()
    # Threads started by the environment must not delay the exit.
    os._exit(0)


def resolve(request: "dict[str, Any]") -> "dict[str, Any]":
    """Both forms of the configuration; raises ConfigRefused."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, name) for name in request["files"]}
        for name, path in paths.items():
            path.write_text(request["files"][name], encoding="utf-8", newline="\n")
        words = [str(paths.get(word, word)) for word in request["words"]]
        config = parse(["--env.taskset.id", request["module"], *words])
    whole = without(request["nowhere"], config.model_dump(mode="json"))
    given = without(request["nowhere"], config.model_dump(mode="json", exclude_unset=True))
    forget_default_runtimes(config, given, request["words"])
    for name in default_runtimes(type(config.env)):
        is_chosen = "runtime" in (given.get("env", {}).get(name) or {})
        if not is_chosen and whole["env"][name]["runtime"]["type"] == "prime":
            whole["env"][name]["runtime"] = {"type": "subprocess"}
    return {"config": whole, "given": given}


def without(address: str, values: Any) -> Any:
    """`values` where no `base_url` is `address`, which verifiers took from its environment.

    A config of a client sets its address after it is read, so that it counts as given.
    """
    if isinstance(values, list):
        return [without(address, each) for each in values]
    if not isinstance(values, dict):
        return values
    kept = {name: each for name, each in values.items() if (name, each) != ("base_url", address)}
    return {name: without(address, each) for name, each in kept.items()}


def parse(words: "list[str]") -> Any:
    """As `vf-eval` does it; raises ConfigRefused."""
    try:
        pydantic_config: Any = importlib.import_module("pydantic_config.cli")
        from verifiers.v1.cli.resolve import narrow_config
        from verifiers.v1.configs.cli.eval import EvalConfig
    except ImportError as error:
        raise ConfigRefused("it has no configuration of this form (%s)" % error) from error
    try:
        try:
            kind: Any = narrow_config(EvalConfig, words)
        except ValueError:  # of a field without a default, which a flag may still give
            kind = narrow_without_defaults(EvalConfig, words)
        return pydantic_config.cli(kind, args=words)
    except pydantic_config.ConfigFileError as error:
        found = FIELD.findall(error.message)
        if not found:
            raise ConfigRefused(error.message) from error
        reasons = ["`--%s`: %s" % each for each in found]
        raise ConfigRefused(
            "; ".join(reasons), found[0][0], roles_but(found[0][0], words)
        ) from error
    except SystemExit as stop:
        raise ConfigRefused(str(stop)) from stop
    except (ModuleNotFoundError, AttributeError, TypeError, ValueError) as error:
        # What verifiers' own program prints without a traceback: an id that is not there.
        raise ConfigRefused(str(error)) from error


def roles_but(field: str, words: "list[str]") -> "tuple[str, ...]":
    """The roles of the environment, if `field` is of something else that it does not have."""
    import verifiers.v1 as vf
    from verifiers.v1.cli.resolve import extract_id

    places = [index + 1 for index, word in enumerate(words) if word == "@"]
    files = [json.loads(Path(words[place]).read_text(encoding="utf-8")) for place in places]
    named = [extract_id(words, "env"), *((file.get("env") or {}).get("id") for file in files)]
    env = next(filter(None, named), "")
    kind: Any = vf.env_config_type(extract_id(words, "env.taskset"), env)
    parts = field.replace("-", "_").split(".")
    is_unknown = parts[0] == "env" and len(parts) > 1 and parts[1] not in kind.model_fields
    return tuple(default_runtimes(kind)) if is_unknown else ()


def narrow_without_defaults(base: Any, words: "list[str]") -> Any:
    """As `narrow_config`, which makes a default of each class, where one can have none."""
    import verifiers.v1 as vf
    from pydantic import create_model
    from verifiers.v1.cli.resolve import extract_id

    taskset = extract_id(words, "env.taskset")
    env = vf.env_config_type(taskset, extract_id(words, "env"))
    env = create_model(env.__name__, __base__=env, taskset=(vf.taskset_config_type(taskset), ...))
    return create_model(base.__name__, __base__=base, env=(env, ...))


def forget_default_runtimes(config: Any, given: "dict[str, Any]", words: "list[str]") -> None:
    """A resolved file has all fields: a runtime in it that is the default was not chosen."""
    for name, usual in default_runtimes(type(config.env)).items():
        role = given.get("env", {}).get(name) or {}
        is_typed = any(word.startswith("--env.%s.runtime" % name) for word in words)
        if not is_typed and getattr(config.env, name).runtime == usual:
            role.pop("runtime", None)


def default_runtimes(env: Any) -> "dict[str, Any]":
    """{name of an agent: its runtime by default} in a class of configurations of environments."""
    from verifiers.v1.configs.agent import AgentConfig

    fields = env.model_fields.items()
    defaults = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return {
        name: usual.runtime for name, usual in defaults.items() if isinstance(usual, AgentConfig)
    }


if __name__ == "__main__":
    main()
