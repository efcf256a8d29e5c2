"""Which options of `prime train` go together with what else was given."""

from collections.abc import Container
from dataclasses import replace

import typer

from prime_cli.core.errors import UsageError
from prime_cli.training.config_file import FileRequest
from prime_cli.training.engines.catalogue import PRIME_RL
from prime_cli.training.request import SFT_LR, TrainRequest

ON_RESUME = frozenset(
    (
        "resume max_hours max_error_rate stall processes nodes address engine_python "
        "max_concurrent max_cost call_timeout score_timeout rollout_timeout env_vars env_file "
        "secrets sandbox notify output quiet yes context offline dry_run"
    ).split()
)
"""The options of a training that may change when it is resumed."""


_NOT_SFT = frozenset(
    (
        "rollouts_per_example temperature num_examples probe vllm max_error_rate refill from_run "
        "solved"
    ).split()
)
"""Options of rollouts to learn from, which `--sft` has none of."""


def check_sft(ctx: typer.Context, training: TrainRequest, file: FileRequest) -> TrainRequest:
    """The request with the learning rate of fine-tuning, unless another is given.

    Raises UsageError for options of rollouts, and a file without an environment.
    """
    if training.engine == PRIME_RL:
        raise UsageError(
            "prime-rl fine-tunes by a program of its own",
            hint="in its checkout: `uv run sft @ FILE`",
        )
    if file.values and "sft" not in file.values:
        raise UsageError(
            "The file is no supervised fine-tuning: it has no `[data]`", hint="omit `--sft`"
        )
    if file.values and not file.values.get("environment"):
        raise UsageError(
            "The file names no environment to compare the weights on",
            hint="add an `[[eval.source]]`, or give all by flags: `prime train ENV -m MODEL --sft`",
        )
    allowed = {str(each.name) for each in ctx.command.params} - _NOT_SFT
    check_given(ctx, allowed, "With `--sft` nothing is learned from rollouts:", "omit it")
    has_rate = "lr" in given_options(ctx) or "lr" in file.values
    return training if has_rate else replace(training, lr=SFT_LR)


ON_JOIN = frozenset("join address stall engine_python output quiet yes context offline".split())


def check_given(ctx: typer.Context, allowed: Container[str], sentence: str, hint: str) -> None:
    """Raise UsageError with the options that are not `allowed`."""
    names = {each.name: each for each in ctx.command.params}
    given = [
        names[name].opts[-1] if names[name].param_type_name == "option" else "ENVIRONMENT"
        for name in given_options(ctx)
        if name not in allowed
    ]
    if given:
        raise UsageError(
            f"{sentence} {', '.join(given)}",
            hint=hint,
        )


def given_options(ctx: typer.Context) -> list[str]:
    """The parameters that are on the command line, by name."""
    source = ctx.get_parameter_source
    names = [each.name for each in ctx.command.params if each.name is not None]
    found = {name: source(name) for name in names}
    return [name for name, by in found.items() if by is not None and by.name == "COMMANDLINE"]
