"""README.md of a dataset: metadata for the Hugging Face Hub, and text for people."""

import re
from collections.abc import Mapping

from prime_cli import __version__
from prime_cli.evals.export.text import as_json, spent_of, well_formed
from prime_cli.runs.summary import Summary

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


def make_card(summary: Summary, facts: Mapping[str, str], rollouts: int) -> str:
    """The card of a dataset with `rollouts` rows; texts written by others are escaped."""
    title = f"{summary.environment.ref} with {summary.model}"
    lines = [
        "---",
        f"pretty_name: {_quoted(title)}",
        "tags:",
        "- verifiers",
        "- evaluation",
        "- reinforcement-learning",
        "size_categories:",
        f"- {_size(rollouts)}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*",
        "---",
        "",
        f"# {escaped(title)}",
        "",
        f"{rollouts} rollouts of an evaluation, one a row.",
        "",
        *_table(("", ""), _figures(summary)),
        "",
        "## How it was made",
        "",
        *_table(("", ""), {"Run": summary.run_id, "Date": summary.date or "", **facts}),
        "",
        f"Written by `prime eval export` of prime {__version__}.",
        "An error is no score: `reward` is null exactly where `error` is not.",
        "`info`, `task`, `usage`, `timing`, `metrics` and `state` are JSON in strings where they",
        "are no text, as are `tool_calls` and `extra` in a message of `prompt` and `completion`.",
        "",
    ]
    return "\n".join(lines)


def _figures(summary: Summary) -> dict[str, str]:
    counts, reward = summary.counts, summary.reward
    shown = {
        "Status": summary.status,
        "Mean reward": _number(reward.mean),
        "Standard deviation": _number(reward.std),
        "With errors as 0 or left out": f"{_number(reward.low)} to {_number(reward.high)}",
        "Planned": str(counts.planned),
        "Scored": str(counts.scored),
        "Errored": str(counts.errored),
        "Truncated": str(counts.truncated),
    }
    if summary.asked_again_words:
        shown["Asked again"] = summary.asked_again_words
    metrics = {name: _number(metric.mean) for name, metric in summary.metrics.items()}
    return shown | spent_of(summary.usage) | metrics


def _table(head: tuple[str, str], rows: Mapping[str, str]) -> list[str]:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return [*lines, *(f"| {escaped(name)} | {escaped(text)} |" for name, text in rows.items())]


def escaped(text: str) -> str:
    """`text` on one line, escaped for Markdown and HTML."""
    return _MARKDOWN.sub(r"\\\1", " ".join(well_formed(text).split())).replace("\\<", "&lt;")


def _quoted(text: str) -> str:
    """A string of YAML 1.1, which allows only printable characters and escapes like JSON."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return as_json(shown).decode()


def _size(rollouts: int) -> str:
    return next((name for limit, name in _SIZES if rollouts < limit), "n>1M")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
