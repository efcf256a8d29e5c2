"""The interpreter that a run had, or one that holds the same packages."""

from prime_cli.core.errors import Conflict
from prime_cli.evals.execution.context import Surroundings
from prime_cli.evals.execution.interpreter import choose_interpreter
from prime_cli.evals.execution.run_record import facts_of
from prime_cli.evals.planning.locate import Subject
from prime_cli.evals.resume.compatibility import package_differences
from prime_cli.runs.manifest import InterpreterFacts
from prime_cli.runs.plan import EvalPlan
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.sandbox import Sandbox
from prime_cli.runtime.variables import Variables
from prime_cli.wire.locks import Lock


def interpreter_again(
    plan: EvalPlan,
    subject: Subject,
    around: Surroundings,
    sandbox: Sandbox | None,
    variables: Variables,
    *,
    before: InterpreterFacts | None,
    lock: Lock | None,
    force: bool,
) -> Interpreter:
    """An interpreter with the packages of `lock`; any that will do where `before` is None.

    Raises Conflict where it is not as `before`, unless with `force`, and what
    `choose_interpreter` raises.
    """
    with around.turn:
        interpreter = choose_interpreter(
            plan, subject, around, sandbox, before=before, pinned=lock, variables=variables
        )
    found = [] if before is None else list(package_differences(before, facts_of(interpreter)))
    if found and not force:
        raise Conflict(
            "The run cannot be made again: its packages are not those it had",
            detail="\n".join(map(str, found)),
            hint="`--force` runs it on these",
        )
    for difference in found:
        around.progress.warn(f"Not as it was: {difference}")
    return interpreter
