"""The flags of `prime eval run`, spelled as vf-eval spells them."""

from pathlib import Path
from typing import Annotated

import typer

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
    typer.Option("--rollouts-per-example", "-r", help="Rollouts of each.", show_default="3"),
]
ConcurrencyOpt = Annotated[
    int | None,
    typer.Option(
        "--max-concurrent",
        "--max-concurrent-requests",
        "-c",
        help="Rollouts at a time.",
        show_default="32",
    ),
]
PaceOpt = Annotated[
    int | None,
    typer.Option(
        "--max-concurrent", "-c", help="Rollouts at a time.", show_default="as in the run"
    ),
]
MaxTokensOpt = Annotated[
    int | None, typer.Option("--max-tokens", "-t", help="Limit of one completion.")
]
TemperatureOpt = Annotated[
    float | None, typer.Option("--temperature", "-T", help="Randomness of sampling.")
]
SamplingOpt = Annotated[
    str | None,
    typer.Option("--sampling-args", "-S", metavar="JSON", help="Sampling; wins over -t and -T."),
]
EnvArgsOpt = Annotated[
    str | None,
    typer.Option("--env-args", "-a", metavar="JSON", help="Arguments of load_environment."),
]
ExtraOpt = Annotated[
    str | None,
    typer.Option("--extra-env-kwargs", "-x", metavar="JSON", help="Set on the loaded environment."),
]
BaseUrlOpt = Annotated[
    str | None,
    typer.Option("--api-base-url", "-b", metavar="URL", help="An OpenAI-compatible server."),
]
KeyVarOpt = Annotated[
    str | None,
    typer.Option("--api-key-var", "-k", metavar="NAME", help="The variable that holds its key."),
]
EndpointsOpt = Annotated[
    Path | None,
    typer.Option(
        "--endpoints-path", "-e", metavar="FILE", help="A registry: endpoints.toml or endpoints.py."
    ),
]
ProviderOpt = Annotated[
    str | None, typer.Option("--provider", "-p", help="A known service, such as openrouter.")
]
HeaderOpt = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="'NAME: VALUE'", help="Send with every call; repeatable."),
]
EnvVarOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--env-var", metavar="NAME[=VALUE]", help="Pass a variable to the environment; repeatable."
    ),
]
EnvFileOpt = Annotated[
    Path | None,
    typer.Option("--env-file", metavar="FILE", help="Pass a .env file to the environment."),
]
StateColumnsOpt = Annotated[
    list[str] | None,
    typer.Option("--state-columns", "-C", metavar="NAME,…", help="State to keep with each row."),
]
IndependentOpt = Annotated[
    bool,
    typer.Option("--independent-scoring", "-i", help="Score each rollout without its group."),
]
RetriesOpt = Annotated[
    int, typer.Option("--max-retries", help="Retries of a rollout without an answer.")
]
ErrorRateOpt = Annotated[
    float,
    typer.Option("--max-error-rate", help="Share of errored rollouts above which to exit 3."),
]
FailFastOpt = Annotated[
    bool | None,
    typer.Option(
        "--fail-fast/--no-fail-fast",
        help="Stop when the first rollouts all fail alike.",
        show_default="fail-fast",
    ),
]
ResumeOpt = Annotated[
    str | None,
    typer.Option(
        "--resume", "-R", metavar="[RUN]", help="Go on with RUN, or the newest of this plan."
    ),
]
RetryErrorsOpt = Annotated[
    bool,
    typer.Option("--retry-errors", help="With --resume, rerun all errored rollouts."),
]
NewOpt = Annotated[bool, typer.Option("--new", help="Begin anew; offer no unfinished run.")]
FailUnderOpt = Annotated[
    float | None,
    typer.Option("--fail-under", metavar="REWARD", help="Exit 1 when the mean reward is lower."),
]
BaselineOpt = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="RUN|EVALUATION", help="A run to compare with, here or on a hub."
    ),
]
MaxDropOpt = Annotated[
    float | None,
    typer.Option("--max-drop", metavar="D", help="Exit 1 when more is lost against --baseline."),
]
JunitOpt = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report there.")
]
GithubSummaryOpt = Annotated[
    bool | None,
    typer.Option(
        "--github-summary/--no-github-summary",
        help="Append to GitHub's step summary.",
        show_default="where GitHub asks for one",
    ),
]
MaxCostOpt = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Stop when the run has cost that much."),
]
TokenBudgetOpt = Annotated[
    int | None,
    typer.Option("--token-budget", metavar="N", help="Stop when it has used that many tokens."),
]
CallTimeoutOpt = Annotated[
    str | None,
    typer.Option(
        "--call-timeout",
        metavar="SPAN",
        help="Deadline of one try of a model call.",
        show_default="30m",
    ),
]
ScoreTimeoutOpt = Annotated[
    str | None,
    typer.Option(
        "--score-timeout",
        metavar="SPAN",
        help="Deadline of scoring a rollout.",
        show_default="1h, or 10m where it never awaits",
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
    ),
]
VerifiersOpt = Annotated[
    str | None,
    typer.Option("--verifiers", metavar="SPEC", help="Run with this verifiers, such as 0.1.14."),
]
CacheOpt = Annotated[
    bool, typer.Option("--cache", help="Keep answers, and take those of the same requests.")
]
SandboxOpt = Annotated[
    bool, typer.Option("--sandbox", help="Wall the environment in with bubblewrap.")
]
AllowNetOpt = Annotated[
    bool, typer.Option("--allow-net", help="Leave it the network, in the sandbox.")
]
OnlyGatewayOpt = Annotated[
    bool, typer.Option("--only-gateway", help="Refuse connections that bypass the gateway.")
]
HubOnlyOpt = Annotated[bool, typer.Option("--hub", help="Do not look into local folders.")]
SaveOpt = Annotated[
    bool,
    typer.Option("--save-results", "--save-dataset", "-s", help="Accepted; always saved."),
]
PushOpt = Annotated[bool, typer.Option("--push", help="Push it to the hub when it has ended.")]
SaveToHubOpt = Annotated[
    bool,
    typer.Option("--save-to-hf-hub", "-H", help="Push to the Hugging Face Hub; new is private."),
]
DatasetNameOpt = Annotated[
    str | None,
    typer.Option(
        "--hf-hub-dataset-name", "-D", metavar="NAME", help="With -H: the data set, or owner/name."
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
    typer.Option("--tag", metavar="TAG", help="Tag the run; repeatable."),
]
NoteOpt = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="Attach a note to the run.")
]
VerboseOpt = Annotated[bool, typer.Option("--verbose", "-v", help="Print the plan first.")]
