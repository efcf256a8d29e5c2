"""The flags of `prime eval run`, spelled as vf-eval spells them."""

from pathlib import Path
from typing import Annotated

import typer

_MODEL = "Model and sampling"
_ENVIRONMENT = "Environment"
_LIMITS = "Limits and errors"
_RESUME = "Resume"
_RESULTS = "Results"

NameArg = Annotated[
    str | None,
    typer.Argument(
        metavar="ENVIRONMENT",
        help="`owner/name[@version]`, a name, a project folder, or a built wheel.",
        show_default=False,
    ),
]
ModelOpt = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="A model, or an alias of the endpoint registry."
    ),
]
ExamplesOpt = Annotated[
    int | None,
    typer.Option("--num-examples", "-n", help="Examples to use; -1 is all.", show_default="5"),
]
RolloutsOpt = Annotated[
    int | None,
    typer.Option("--rollouts-per-example", "-r", help="Rollouts per example.", show_default="3"),
]
ConcurrencyOpt = Annotated[
    int | None,
    typer.Option(
        "--max-concurrent",
        "--max-concurrent-requests",
        "-c",
        help="Maximum number of concurrent rollouts.",
        show_default="32",
        rich_help_panel=_LIMITS,
    ),
]
PaceOpt = Annotated[
    int | None,
    typer.Option(
        "--max-concurrent",
        "-c",
        help="Maximum number of concurrent rollouts.",
        show_default="as in the run",
        rich_help_panel=_LIMITS,
    ),
]
MaxTokensOpt = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", "-t", help="Maximum tokens per completion.", rich_help_panel=_MODEL
    ),
]
TemperatureOpt = Annotated[
    float | None,
    typer.Option("--temperature", "-T", help="Sampling temperature.", rich_help_panel=_MODEL),
]
SamplingOpt = Annotated[
    str | None,
    typer.Option(
        "--sampling-args",
        "-S",
        metavar="JSON",
        help="Sampling; wins over -t and -T.",
        rich_help_panel=_MODEL,
    ),
]
EnvArgsOpt = Annotated[
    str | None,
    typer.Option(
        "--env-args",
        "-a",
        metavar="JSON",
        help="Arguments of load_environment.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
ExtraOpt = Annotated[
    str | None,
    typer.Option(
        "--extra-env-kwargs",
        "-x",
        metavar="JSON",
        help="Attributes to set on the loaded environment.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
BaseUrlOpt = Annotated[
    str | None,
    typer.Option(
        "--api-base-url",
        "-b",
        metavar="URL",
        help="An OpenAI-compatible server.",
        rich_help_panel=_MODEL,
    ),
]
KeyVarOpt = Annotated[
    str | None,
    typer.Option(
        "--api-key-var",
        "-k",
        metavar="NAME",
        help="The variable that holds its key.",
        rich_help_panel=_MODEL,
    ),
]
EndpointsOpt = Annotated[
    Path | None,
    typer.Option(
        "--endpoints-path",
        "-e",
        metavar="FILE",
        help="A registry: endpoints.toml or endpoints.py.",
        rich_help_panel=_MODEL,
    ),
]
ProviderOpt = Annotated[
    str | None,
    typer.Option(
        "--provider", "-p", help="A known service, such as openrouter.", rich_help_panel=_MODEL
    ),
]
HeaderOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="Header to send with every model call; repeatable.",
        rich_help_panel=_MODEL,
    ),
]
EnvVarOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--env-var",
        metavar="NAME[=VALUE]",
        help="Pass a variable to the environment; repeatable.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
EnvFileOpt = Annotated[
    Path | None,
    typer.Option(
        "--env-file",
        metavar="FILE",
        help="Pass a .env file to the environment.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
StateColumnsOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--state-columns",
        "-C",
        metavar="NAME,…",
        help="State to keep with each row.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
IndependentOpt = Annotated[
    bool,
    typer.Option(
        "--independent-scoring",
        "-i",
        help="Score each rollout without its group.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
RetriesOpt = Annotated[
    int,
    typer.Option(
        "--max-retries", help="Retries of a rollout without an answer.", rich_help_panel=_LIMITS
    ),
]
ErrorRateOpt = Annotated[
    float,
    typer.Option(
        "--max-error-rate",
        help="Share of errored rollouts above which to exit 3.",
        rich_help_panel=_LIMITS,
    ),
]
FailFastOpt = Annotated[
    bool | None,
    typer.Option(
        "--fail-fast/--no-fail-fast",
        help="Stop when the first rollouts all fail alike.",
        show_default="fail-fast",
        rich_help_panel=_LIMITS,
    ),
]
ResumeOpt = Annotated[
    str | None,
    typer.Option("--resume", "-R", metavar="[RUN]", help="Resume RUN, or the newest matching run."),
]
RetryErrorsOpt = Annotated[
    bool,
    typer.Option(
        "--retry-errors", help="With --resume, rerun all errored rollouts.", rich_help_panel=_RESUME
    ),
]
NewOpt = Annotated[
    bool,
    typer.Option("--new", help="Start a new run; do not offer to resume.", rich_help_panel=_RESUME),
]
MaxCostOpt = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Stop at this cost."),
]
TokenBudgetOpt = Annotated[
    int | None,
    typer.Option(
        "--token-budget",
        metavar="N",
        help="Stop after this many tokens.",
        rich_help_panel=_LIMITS,
    ),
]
CallTimeoutOpt = Annotated[
    str | None,
    typer.Option(
        "--call-timeout",
        metavar="SPAN",
        help="Deadline of one try of a model call.",
        show_default="30m",
        rich_help_panel=_LIMITS,
    ),
]
ScoreTimeoutOpt = Annotated[
    str | None,
    typer.Option(
        "--score-timeout",
        metavar="SPAN",
        help="Deadline of scoring a rollout.",
        show_default="1h, or 10m where it never awaits",
        rich_help_panel=_LIMITS,
    ),
]
RolloutTimeoutOpt = Annotated[
    str | None,
    typer.Option(
        "--rollout-timeout",
        "--timeout",
        metavar="SPAN",
        help="Deadline of a whole rollout.",
        show_default="6h",
        rich_help_panel=_LIMITS,
    ),
]
VerifiersOpt = Annotated[
    str | None,
    typer.Option(
        "--verifiers",
        metavar="SPEC",
        help="Run with this verifiers, such as 0.1.14.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
CacheOpt = Annotated[
    bool,
    typer.Option("--cache", help="Cache model responses and reuse them.", rich_help_panel=_MODEL),
]
SandboxOpt = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="Run the environment in a bubblewrap sandbox.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
AllowNetOpt = Annotated[
    bool,
    typer.Option(
        "--allow-net", help="Allow network access in the sandbox.", rich_help_panel=_ENVIRONMENT
    ),
]
OnlyGatewayOpt = Annotated[
    bool,
    typer.Option(
        "--only-gateway",
        help="Refuse connections that bypass the gateway.",
        rich_help_panel=_ENVIRONMENT,
    ),
]
HubOnlyOpt = Annotated[
    bool,
    typer.Option(
        "--hub", help="Use the hub only; ignore local folders.", rich_help_panel=_ENVIRONMENT
    ),
]
SaveOpt = Annotated[
    bool,
    typer.Option(
        "--save-results",
        "--save-dataset",
        "-s",
        help="Accepted; always saved.",
        rich_help_panel=_RESULTS,
    ),
]
PushOpt = Annotated[
    bool,
    typer.Option(
        "--push", help="Push the results to the hub when the run ends.", rich_help_panel=_RESULTS
    ),
]
SaveToHubOpt = Annotated[
    bool,
    typer.Option(
        "--save-to-hf-hub",
        "-H",
        help="Push to the Hugging Face Hub; new is private.",
        rich_help_panel=_RESULTS,
    ),
]
DatasetNameOpt = Annotated[
    str | None,
    typer.Option(
        "--hf-hub-dataset-name",
        "-D",
        metavar="NAME",
        help="With -H: the data set, or owner/name.",
        rich_help_panel=_RESULTS,
    ),
]
OfficialOpt = Annotated[
    bool,
    typer.Option(
        "--skip-upload",
        "--disable-tui",
        "-d",
        "--fullscreen",
        "-f",
        "--abbreviated-summary",
        "-A",
        "--no-interleave-scoring",
        "-N",
        "--disable-env-server",
        hidden=True,
        help="Accepted, and so already: nothing is uploaded, no screen taken, no server started.",
    ),
]
WorkersOpt = Annotated[
    str | None,
    typer.Option(
        "--num-workers", "-w", hidden=True, help="Accepted: one worker holds all rollouts."
    ),
]
TagOpt = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Tag the run; repeatable.", rich_help_panel=_RESULTS),
]
NoteOpt = Annotated[
    str | None,
    typer.Option(
        "--note", metavar="TEXT", help="Attach a note to the run.", rich_help_panel=_RESULTS
    ),
]
VerboseOpt = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print the plan first.", rich_help_panel=_RESULTS)
]
