"""The configuration of an evaluation as an environment's own release of verifiers resolves it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.errors import LoadFailed, UsageError
from prime_cli.core.process import run
from prime_cli.runtime.import_check import STAND_INS
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.isolation.bubblewrap import Wrapped
from prime_cli.runtime.isolation.sandbox import NamespaceSandbox
from prime_cli.runtime.variables import Variables

_SCRIPT = Path(__file__).parent / "worker" / "resolve_config.py"
_INFERENCE_URL = "PRIME_INFERENCE_URL"
_SECONDS = 600
_LARGEST = 100_000
"""Linux passes an argument of at most 128 KiB."""

_RELEASES = {"num-tasks": "0.3", "shuffle": "0.3", "serve": "0.3", "select": "0.4"}
"""The releases that have a field at the top of the configuration which others lack."""


@dataclass(frozen=True)
class ResolvedConfig:
    """`config` is the whole configuration, `given` what the words and files set of it."""

    verifiers: str
    config: Mapping[str, Any]
    given: Mapping[str, Any]


def resolve_config(
    interpreter: Interpreter,
    words: Sequence[str],
    files: Mapping[str, str],
    variables: Variables,
    sandbox: NamespaceSandbox | None = None,
) -> ResolvedConfig:
    """What `vf-eval MODULE` makes of `words`, where `@` is followed by a name of `files`.

    Raises UsageError with what verifiers says about a wrong name or value, LoadFailed if it cannot
    say anything.
    """
    request = json.dumps(
        {
            "module": interpreter.module,
            "words": words,
            "files": files,
            "withheld": [*variables.secret],
            "left_out": [*variables.others],
            "nowhere": STAND_INS[_INFERENCE_URL],
        }
    )
    if len(request) > _LARGEST:
        raise UsageError(f"The configuration is longer than {_LARGEST:,} characters")
    command = [str(interpreter.python), "-I", str(_SCRIPT), request]
    # The script drops this one, which must not be an address that the user has set.
    env = {**STAND_INS, **variables.given, _INFERENCE_URL: STAND_INS[_INFERENCE_URL]}
    inside: AbstractContextManager[Wrapped] = nullcontext(Wrapped(command))
    if sandbox is not None:
        inside, env = sandbox.wrap(command), sandbox.variables(env)
    with inside as wrapped:
        # Here, as the run itself: paths in the configuration may be relative.
        completed = run(wrapped.words, pass_fds=wrapped.pass_fds, env=env, timeout=_SECONDS)
    try:
        answer = json.loads(completed.out.strip().splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise LoadFailed(
            f"verifiers {interpreter.verifiers} could not read the configuration: "
            f"{completed.last_lines()}"
        ) from error
    if "error" in answer:
        raise _refused(answer, interpreter.verifiers)
    return ResolvedConfig(interpreter.verifiers, answer["config"], answer["given"])


def _refused(answer: Mapping[str, Any], verifiers: str) -> UsageError:
    release = _RELEASES.get(answer["field"].partition(".")[0])
    hint = "`prime eval run ENVIRONMENT --dry-run` shows the configuration of the environment"
    if release is not None and not verifiers.startswith(f"{release}."):
        hint = f"verifiers {release} has it: `--verifiers '=={release}.*'`"
    if answer["roles"]:
        flags = ", ".join(f"`--env.{role.replace('_', '-')}`" for role in answer["roles"])
        hint = f"the roles of this environment are {flags}"
    return UsageError(
        f"verifiers {verifiers} refuses the configuration: {answer['error'].strip()}", hint=hint
    )
