"""The table of `prime eval run`: each row is a flag with all its properties."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from prime_cli.core.options import Option, option_fields
from prime_cli.evals.planning.parsers import (
    parse_examples,
    parse_folder,
    parse_names,
    parse_object,
    parse_ray,
    parse_requirements,
    parse_sandbox_provider,
    parse_shard,
    parse_span,
)
from prime_cli.runs.manifest import ModelFlags
from prime_cli.runs.plan import Deadlines, EvalPlan

_MODEL = "Model and sampling"
_ENVIRONMENT = "Environment"
_LIMITS = "Limits and errors"
_RESUME = "Resume"
_RESULTS = "Results"
_CLUSTERS = "Clusters"

CONFIG_FLAG = "--env.NAME"
"""The flag that stands for every flag of verifiers' configuration; its value is one word of it."""

OPTIONS = "options"
"""The field of a plan, and of what a worker gets, that holds flags without a field of their own."""


class Flag(Option, frozen=True):
    """A flag of `prime eval run`: an option, and its use in a plan, a suite and a worker.

    `plan` is the field of an EvalPlan that the value decides; None leaves no trace there. It is
    copied unless the plan is `computed` from several flags. A resume must not change a `fixed` one.
    `suite` are the fields of a suite's file that set it: by default the flag's long name, none if
    empty. `worker` is the field of the worker's spec that sends it. A flag with neither field of
    its own has OPTIONS for `plan` and, if sent, for `worker`.
    """

    plan: str | None = None
    computed: bool = False
    fixed: bool = True
    suite: tuple[str, ...] | None = None
    worker: str | None = None


def _json(flag: str) -> Any:
    return partial(parse_object, flag=flag)


def _span(flag: str) -> Any:
    return partial(parse_span, flag=flag)


@dataclass(frozen=True)
class EvalRequest:
    """The flags of the user; None and empty mean that a flag was not set."""

    environment: str = ""

    # fmt: off
    # One row each, as wide as the page: the table is read as a whole.
    model: Annotated[str | None, Flag(
        "A model, an alias of endpoints.toml, or builtin/oracle or builtin/echo.",
        names=("--model", "-m"),
        metavar="MODEL", plan="model", computed=True, suite=("model", "endpoint_id")
    )] = None
    num_examples: Annotated[int | None, Flag(
        "Number of examples; -1 means all.", names=("--num-examples", "--num-tasks", "-n"),
        show_default="5", plan="num_examples", worker="n"
    )] = None
    rollouts_per_example: Annotated[int | None, Flag(
        "Rollouts per example.", names=("--rollouts-per-example", "--num-rollouts", "-r"),
        show_default="3", plan="rollouts_per_example", worker="r"
    )] = None
    examples: Annotated[str | None, Flag(
        "Only these examples, counting from 0.", metavar="3,7,10-20", panel=_ENVIRONMENT,
        parse=parse_examples, plan=OPTIONS, worker=OPTIONS
    )] = None
    split: Annotated[str | None, Flag(
        "Use this split of the data.", metavar="NAME", panel=_ENVIRONMENT, plan=OPTIONS,
        worker=OPTIONS
    )] = None
    shuffle: Annotated[int | None, Flag(
        "Shuffle the examples by this seed before -n takes the first.", metavar="SEED",
        panel=_ENVIRONMENT, plan=OPTIONS, worker=OPTIONS
    )] = None
    shard: Annotated[str | None, Flag(
        "Run the I-th of N parts of the examples; `auto` asks the cluster.", metavar="I/N",
        panel=_CLUSTERS, parse=parse_shard, plan=OPTIONS, suite=(), worker=OPTIONS
    )] = None
    ray: Annotated[str | None, Flag(
        "Run on the nodes of a Ray cluster, or `none`.", metavar="ADDRESS|auto", panel=_CLUSTERS,
        parse=parse_ray, plan=OPTIONS, fixed=False, suite=()
    )] = None
    workers: Annotated[int | None, Flag(
        "With --ray, this many workers with -c rollouts each.", metavar="N",
        show_default="one for each node", panel=_CLUSTERS, plan=OPTIONS, fixed=False, suite=()
    )] = None
    max_concurrent: Annotated[int | None, Flag(
        "Maximum number of concurrent rollouts.",
        names=("--max-concurrent", "--max-concurrent-requests", "-c"), show_default="32",
        plan="concurrency", fixed=False
    )] = None
    max_tokens: Annotated[int | None, Flag(
        "Maximum tokens per completion.", names=("--max-tokens", "-t"),
        plan="sampling", computed=True
    )] = None
    temperature: Annotated[float | None, Flag(
        "Sampling temperature.", names=("--temperature", "-T"), plan="sampling",
        computed=True
    )] = None
    sampling: Annotated[dict[str, Any] | None, Flag(
        "Sampling parameters; override -t and -T.", names=("--sampling-args", "-S"), metavar="JSON",
        panel=_MODEL, parse=_json("-S/--sampling-args"), plan="sampling", computed=True,
        worker="sampling"
    )] = None
    env_args: Annotated[dict[str, Any] | None, Flag(
        "Arguments of load_environment.", names=("--env-args", "-a"), metavar="JSON",
        parse=_json("-a/--env-args"), plan="env_args", suite=("args",),
        worker="args"
    )] = None
    extra_args: Annotated[dict[str, Any] | None, Flag(
        "Attributes to set on the loaded environment.", names=("--extra-env-kwargs", "-x"),
        metavar="JSON", panel=_ENVIRONMENT, parse=_json("-x/--extra-env-kwargs"),
        plan="extra_args", worker="extra"
    )] = None
    base_url: Annotated[str | None, Flag(
        "An OpenAI-compatible server.", names=("--api-base-url", "-b"), metavar="URL",
        plan="endpoint", computed=True
    )] = None
    key_var: Annotated[str | None, Flag(
        "The variable that holds its key.", names=("--api-key-var", "-k"), metavar="NAME",
        panel=_MODEL, plan="key_var", computed=True, fixed=False
    )] = None
    endpoints_path: Annotated[Path | None, Flag(
        "A registry: endpoints.toml or endpoints.py.", names=("--endpoints-path", "-e"),
        metavar="FILE", panel=_MODEL, plan="endpoint", computed=True
    )] = None
    provider: Annotated[str | None, Flag(
        "A known service, such as openrouter.", names=("--provider", "-p"), panel=_MODEL,
        plan="endpoint", computed=True
    )] = None
    headers: Annotated[tuple[str, ...], Flag(
        "Header to send with every model call; repeatable.", names=("--header",),
        metavar="'NAME: VALUE'", panel=_MODEL, plan="headers", computed=True,
        suite=("header", "headers")
    )] = ()
    config_args: Annotated[tuple[str, ...], Flag(
        "vf-eval's --env.*, --select.*, --sampling.*, --client.*, @ FILE; --dry-run lists them.",
        names=(CONFIG_FLAG,), metavar="VALUE", panel=_ENVIRONMENT, suite=()
    )] = ()
    is_short_s: Annotated[bool, Flag(
        "What it means to the release of verifiers: shuffle in 0.3 and later.", names=("-s",),
        hidden=True, suite=()
    )] = False
    select: Annotated[dict[str, Any] | None, Flag(
        "The tasks that verifiers selects.", metavar="JSON", hidden=True, parse=_json("--select"),
        panel=_ENVIRONMENT, plan=OPTIONS, worker=OPTIONS
    )] = None
    env_vars: Annotated[tuple[str, ...], Flag(
        "Pass a variable to the environment; repeatable.", names=("--env-var",),
        metavar="NAME[=VALUE]", panel=_ENVIRONMENT, plan="env_vars", suite=("env_vars",)
    )] = ()
    env_file: Annotated[Path | None, Flag(
        "Pass a .env file to the environment.", metavar="FILE", panel=_ENVIRONMENT, suite=()
    )] = None
    secrets: Annotated[bool, Flag(
        "Pass the environment's secrets and variables on the hub.", panel=_ENVIRONMENT,
        plan=OPTIONS, fixed=False
    )] = False
    state_columns: Annotated[tuple[str, ...], Flag(
        "State to keep with each row.", names=("--state-columns", "-C"), metavar="NAME,…",
        panel=_ENVIRONMENT, parse=parse_names, plan="state_columns", worker="state_columns"
    )] = ()
    independent_scoring: Annotated[bool, Flag(
        "Score each rollout without its group.", names=("--independent-scoring", "-i"),
        panel=_ENVIRONMENT, plan="independent_scoring", worker="independent_scoring"
    )] = False
    max_retries: Annotated[int, Flag(
        "Retries for rollouts without an answer.", panel=_LIMITS, plan="max_retries",
        fixed=False, worker="max_retries"
    )] = 0
    max_error_rate: Annotated[float, Flag(
        "Share of errored rollouts above which to exit 3.", panel=_LIMITS, plan="max_error_rate",
        fixed=False
    )] = 0.0
    fail_fast: Annotated[bool | None, Flag(
        "Stop when the first rollouts all fail alike.", names=("--fail-fast/--no-fail-fast",),
        show_default="fail-fast", panel=_LIMITS, plan="fail_fast", fixed=False
    )] = None
    max_cost: Annotated[float | None, Flag(
        "Stop at this cost.", metavar="USD", plan="max_cost", fixed=False, suite=()
    )] = None
    token_budget: Annotated[int | None, Flag(
        "Stop after this many tokens.", metavar="N", panel=_LIMITS, plan="token_budget",
        fixed=False, suite=()
    )] = None
    call_timeout: Annotated[int | None, Flag(
        "Deadline for one attempt at a model call.", metavar="SPAN", show_default="30m",
        panel=_LIMITS, parse=_span("--call-timeout"), plan="deadlines", computed=True,
        fixed=False
    )] = None
    score_timeout: Annotated[int | None, Flag(
        "Deadline for scoring a rollout.", metavar="SPAN",
        show_default="1h, or 10m if it never awaits", panel=_LIMITS,
        parse=_span("--score-timeout"), plan="deadlines", computed=True, fixed=False
    )] = None
    rollout_timeout: Annotated[int | None, Flag(
        "Deadline for a whole rollout.", names=("--rollout-timeout", "--timeout"), metavar="SPAN",
        show_default="6h", panel=_LIMITS, parse=_span("--rollout-timeout"), plan="deadlines",
        computed=True, fixed=False, suite=("rollout_timeout", "timeout")
    )] = None
    cache: Annotated[bool, Flag(
        "Cache model responses and reuse them.", panel=_MODEL, plan="cache", fixed=False
    )] = False
    retry_errors: Annotated[bool, Flag(
        "With --resume, rerun all errored rollouts.", panel=_RESUME, suite=()
    )] = False
    verifiers: Annotated[str | None, Flag(
        "Run with this version of verifiers, such as 0.1.14.", metavar="SPEC", panel=_ENVIRONMENT,
        plan="verifiers"
    )] = None
    python: Annotated[str | None, Flag(
        "A Python version or interpreter to use.", metavar="PYTHON", panel=_ENVIRONMENT,
        plan="python"
    )] = None
    with_packages: Annotated[tuple[str, ...], Flag(
        "Install this package too; repeatable.", names=("--with",), metavar="REQUIREMENT",
        panel=_ENVIRONMENT, parse=parse_requirements, plan=OPTIONS
    )] = ()
    sandbox: Annotated[bool, Flag(
        "Run the environment in a bubblewrap sandbox.", panel=_ENVIRONMENT, plan="sandbox",
        fixed=False
    )] = False
    allow_net: Annotated[bool, Flag(
        "Allow network access in the sandbox.", panel=_ENVIRONMENT, plan="allow_net",
        fixed=False
    )] = False
    only_gateway: Annotated[bool, Flag(
        "Refuse connections that bypass the gateway.", panel=_ENVIRONMENT, plan="only_gateway",
        fixed=False, worker="only_gateway"
    )] = False
    sandbox_provider: Annotated[str | None, Flag(
        "Where to create the environment's own sandboxes.", metavar="local|prime|none",
        show_default="the current hub", panel=_ENVIRONMENT, parse=parse_sandbox_provider,
        plan=OPTIONS, fixed=False
    )] = None
    debug: Annotated[bool, Flag(
        "Stop at breakpoint(); one rollout, on this terminal.", panel=_ENVIRONMENT, suite=()
    )] = False
    hub_only: Annotated[bool, Flag(
        "Use the hub only; ignore local folders.", names=("--hub",), panel=_ENVIRONMENT,
        suite=()
    )] = False
    output_dir: Annotated[str | None, Flag(
        "Save the run in DIR/evals.", metavar="DIR", show_default="outputs", panel=_RESULTS,
        parse=parse_folder, plan=OPTIONS
    )] = None
    tags: Annotated[tuple[str, ...], Flag(
        "Tag the run; repeatable.", names=("--tag",), metavar="TAG", panel=_RESULTS,
        parse=parse_names, suite=("tags",)
    )] = ()
    note: Annotated[str | None, Flag(
        "Attach a note to the run.", metavar="TEXT", panel=_RESULTS
    )] = None
    # fmt: on

    @property
    def deadlines(self) -> Deadlines:
        """The three deadlines."""
        return Deadlines(self.call_timeout, self.score_timeout, self.rollout_timeout)


def request_flags() -> Iterator[tuple[str, Any, Flag]]:
    """The table: (field of EvalRequest, its default, its flag)."""
    for field in option_fields(EvalRequest):
        if isinstance(field.option, Flag):
            yield field.name, field.default, field.option


def plan_fields(request: EvalRequest) -> dict[str, Any]:
    """The fields of a plan that `request` sets directly."""
    found: dict[str, Any] = {}
    for name, default, flag in request_flags():
        value = getattr(request, name)
        if flag.plan is None or flag.computed or value == default:
            continue
        if flag.plan == OPTIONS:
            found.setdefault(OPTIONS, {})[name] = value
        else:
            found[flag.plan] = value
    return found


def completed_by(request: EvalRequest, plan: EvalPlan) -> dict[str, Any]:
    """The fields of `request` that were not set, with the values of `plan`."""
    found: dict[str, Any] = {}
    for name, default, flag in request_flags():
        if flag.plan is None or flag.computed or getattr(request, name) != default:
            continue
        value = plan.option(name, default) if flag.plan == OPTIONS else getattr(plan, flag.plan)
        found[name] = value
    return found


def worker_fields(plan: EvalPlan) -> dict[str, Any]:
    """The fields of a worker's spec that flags set."""
    found: dict[str, Any] = {}
    for name, default, flag in request_flags():
        if flag.worker == OPTIONS:
            value = plan.option(name, default)
            if value != default:
                found.setdefault(OPTIONS, {})[name] = value
        elif flag.worker is not None and flag.plan is not None:
            found[flag.worker] = getattr(plan, flag.plan)
    return found


def model_flags_of(request: EvalRequest) -> ModelFlags:
    """The model's flags in `request`."""
    path = request.endpoints_path
    return ModelFlags(
        model=request.model,
        base_url=request.base_url,
        key_var=request.key_var,
        endpoints_path=None if path is None else str(path.absolute()),
        provider=request.provider,
    )
