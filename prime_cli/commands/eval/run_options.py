"""The options of `prime eval run` beside those of the evaluation itself (`EvalRequest`)."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option
from prime_cli.evals.planning.request import CONFIG_FLAG, EvalRequest

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub Actions names a file for each step."""

_GATES = "Gates and reports"
_RESULTS = "Results"

_CLUSTERS = "Clusters"

PANELS = (
    *("Limits and errors", "Model and sampling", "Environment", "Resume"),
    *(_CLUSTERS, _GATES, _RESULTS),
)
"""The headings of the help, in their order."""


@dataclass(frozen=True)
class ResumeOptions:
    """The run to resume: None for none, empty for the newest of the same plan."""

    resume: Annotated[
        str | None,
        Option("Resume RUN, or the newest matching run.", ("--resume", "-R"), metavar="[RUN]"),
    ] = None
    new: Annotated[bool, Option("Start a new run; do not offer to resume.", panel="Resume")] = False

    def check(self, request: EvalRequest) -> None:
        """Raise UsageError for what excludes each other, and for what only a resume can do."""
        if self.resume is not None and self.new:
            raise UsageError("`--resume` and `--new` are mutually exclusive")
        if self.resume is None and request.retry_errors:
            raise UsageError(
                "`--retry-errors` needs an existing run",
                hint="name it: `prime eval run --resume RUN --retry-errors`",
            )


def to_debug(request: EvalRequest, resume: ResumeOptions) -> EvalRequest:
    """`request` for one rollout at a time, and one in all unless more are asked for.

    Raises UsageError without a terminal, and for what cannot be debugged.
    """
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise UsageError(
            "`--debug` needs a terminal: the environment gets its stdin and stdout",
            hint="without one, `-v` shows what the environment prints",
        )
    if resume.resume is not None or request.environment.endswith(".toml"):
        raise UsageError(
            "`--debug` starts one run of its own: it neither resumes one nor runs a suite"
        )
    if request.max_concurrent not in (None, 1):
        raise UsageError("`--debug` runs one rollout at a time", hint="omit `--max-concurrent`")
    chosen = request.num_examples is not None or request.examples is not None
    return replace(
        request,
        num_examples=request.num_examples if chosen else 1,
        rollouts_per_example=request.rollouts_per_example or 1,
        max_concurrent=1,
    )


@dataclass(frozen=True)
class GateOptions:
    """Limits that a run is held to; `prime eval gate` has them too."""

    fail_under: Annotated[
        float | None,
        Option("Exit 1 when the mean reward is lower.", metavar="REWARD", panel=_GATES),
    ] = None
    baseline: Annotated[
        str | None,
        Option("A run to compare with, here or on a hub.", metavar="RUN|EVALUATION", panel=_GATES),
    ] = None
    max_drop: Annotated[
        float | None,
        Option("Exit 1 when the reward drops by more than D.", metavar="D", panel=_GATES),
    ] = None
    require_calibrated: Annotated[
        float | None,
        Option("Exit 1 unless its judge agrees with people.", metavar="KAPPA", panel=_GATES),
    ] = None


@dataclass(frozen=True)
class ReportOptions:
    """Files that say how a run kept its limits."""

    junit: Annotated[
        Path | None, Option("Write a JUnit report to this file.", metavar="FILE", panel=_GATES)
    ] = None
    github_summary: Annotated[
        bool | None,
        Option(
            "Append to GitHub's step summary.",
            ("--github-summary/--no-github-summary",),
            show_default="if GITHUB_STEP_SUMMARY is set",
            panel=_GATES,
        ),
    ] = None

    def summary_file(self, environ: Mapping[str, str]) -> Path | None:
        """Where to append; None when nothing is to be.

        By default wherever GitHub names a file. Raises UsageError when one is wanted and none is
        named.
        """
        named = environ.get(STEP_SUMMARY)
        if self.github_summary and not named:
            raise UsageError(
                f"`--github-summary` needs the variable {STEP_SUMMARY}, which is not set",
                hint="GitHub Actions sets it in every step",
            )
        return None if self.github_summary is False or not named else Path(named)


@dataclass(frozen=True)
class ResultOptions:
    """Where results go when the run ends, beside the run's folder."""

    save_results: Annotated[
        bool,
        Option("Accepted; always saved.", ("--save-results", "--save-dataset"), panel=_RESULTS),
    ] = False
    push: Annotated[
        bool, Option("Push the results to the hub when the run ends.", ("--push/--no-push",))
    ] = False
    notify: Annotated[
        str | None,
        Option(
            "Run this by `sh -c` when the run ends or fails.", metavar="COMMAND", panel=_RESULTS
        ),
    ] = None


@dataclass(frozen=True)
class DatasetOptions:
    """A push to the Hugging Face Hub; `prime eval export` has it too."""

    save_to_hf_hub: Annotated[
        bool,
        Option(
            "Push to the Hugging Face Hub; new is private.",
            ("--save-to-hf-hub", "-H"),
            panel=_RESULTS,
        ),
    ] = False
    hf_hub_dataset_name: Annotated[
        str | None,
        Option(
            "With -H: the dataset's name, or owner/name.",
            ("--hf-hub-dataset-name", "-D"),
            metavar="NAME",
            panel=_RESULTS,
        ),
    ] = None


class JobScheduler(StrEnum):
    """What can start the parts of an evaluation; `prime_cli.evals.shards.jobs` writes for each."""

    SLURM = "slurm"
    KUBERNETES = "kubernetes"
    SKY = "sky"


@dataclass(frozen=True)
class JobOptions:
    """A file for a cluster, printed in place of a run."""

    print_job: Annotated[
        JobScheduler | None,
        Option("Print a job that runs this in parts and merges them.", panel=_CLUSTERS),
    ] = None
    shards: Annotated[
        int | None,
        Option("The number of parts in the printed job.", metavar="N", least=1, panel=_CLUSTERS),
    ] = None


@dataclass(frozen=True)
class AcceptedOptions:
    """Those of vf-eval that ask for what is so already, `--verbose` and `--dry-run`."""

    official: Annotated[
        bool,
        Option(
            "Accepted without effect: this is the default.",
            tuple(
                "--skip-upload --disable-tui -d --fullscreen -f --abbreviated-summary -A "
                "--no-interleave-scoring -N --disable-env-server".split()
            ),
            hidden=True,
        ),
    ] = False
    num_workers: Annotated[
        str | None,
        Option(
            "Accepted without effect: one worker runs all rollouts.",
            ("--num-workers", "-w"),
            hidden=True,
        ),
    ] = None
    verbose: Annotated[
        bool,
        Option(
            "Show the plan, and what the environment prints.", ("--verbose", "-v"), panel=_RESULTS
        ),
    ] = False
    dry_run: Annotated[
        bool, Option("Show the plan, the configuration and the cost; run nothing.")
    ] = False


# --- Words of verifiers' own configuration ---

_DOTTED = re.compile(r"--(?:no-)?(?:env|select|sampling|client|run|rich|serve)\.[\w.*\[\]-]+(=.*)?")
_SWITCHES = ("--rich", "--no-rich", "--serve", "--no-serve")
_NUMBER = re.compile(r"-[\d.]+")
_FILE_SIGN = "@"


def collect_config_args(args: Sequence[str]) -> list[str]:
    """`args` with each word of verifiers' configuration as a CONFIG_FLAG of ours.

    The word after a dotted flag is its value unless it looks like a flag. Where the environment
    comes first, as `vf-eval` has it, a flag may have several.
    """
    found: list[str] = []
    words = list(args)
    may_have_several = bool(words) and not words[0].startswith("-")
    while words:
        word = words.pop(0)
        if word == "--":
            return [*found, word, *words]
        dotted = _DOTTED.fullmatch(word)
        if dotted is None and word not in _SWITCHES and not word.startswith(_FILE_SIGN):
            found.append(word)
            continue
        own = [word]
        if word.startswith(_FILE_SIGN):
            own = _file_words(word, words)
        elif dotted is not None and not dotted[1]:
            while words and _is_value(words[0]) and (len(own) == 1 or may_have_several):
                value = words.pop(0)
                own += _file_words(value, words) if value.startswith(_FILE_SIGN) else [value]
        found += (f"{CONFIG_FLAG}={each}" for each in own)
    return found


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NUMBER.fullmatch(word) is not None


def _file_words(word: str, rest: list[str]) -> list[str]:
    """`@` and the name of a file, which may be one word or two."""
    name = word[1:] or (rest.pop(0) if rest else "")
    if not name:
        raise UsageError("`@` needs a file", hint="such as `@ eval.toml`")
    return [_FILE_SIGN, name]
