"""A training as one HTML file: its curves, evaluations and plan, without a script."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from prime_cli import __version__
from prime_cli.pages.charts import Curve, Point, draw_curves
from prime_cli.pages.runs import LONGEST_LABEL
from prime_cli.pages.texts import shorten
from prime_cli.runs.export.page import page_head, page_part
from prime_cli.training.curves import curves_of, throughput
from prime_cli.training.record import Evaluation, SavedTraining

_SIGNS = {
    "no_spread": "Groups whose rewards are all equal",
    "length": "Tokens of an answer",
    "entropy": "Entropy",
    "logprob_gap": "Gap of the log-probabilities",
    "throughput": "Tokens sampled a second",
}
"""What shows beside the reward whether a model still learns."""
_TITLES = {
    "reward_std": "Standard deviation of the reward",
    "errors": "Rollouts with an error",
    "kl": "KL divergence",
    "grad_norm": "Norm of the gradient",
    "lr": "Learning rate",
    "version_lag": "Age of the weights, in updates",
    "tokens_own": "Tokens sampled",
    "tokens_env": "Tokens of prompts and tools",
    "memory_mb": "Memory in MB",
}
_SECONDS, _REWARDS, _EXTRA = "seconds.", "rewards.", "extra."
_MOST_CURVES = 12
"""Of the chart of rewards: in training and on held-out examples, for each environment."""


class TrainingCharts(NamedTuple):
    """Figures as HTML: the reward (empty without one), signs of learning, and all other metrics."""

    reward: str
    signs: list[str]
    others: list[str]


def draw_training(
    steps: Sequence[Mapping[str, Any]], held_out: Mapping[str, Sequence[Point]]
) -> TrainingCharts:
    """The charts of these `steps`; `held_out` are evaluations by environment, `""` of the only one.

    A metric that never changes has none.
    """
    rates = [(step["step"], rate) for step in steps if (rate := throughput(step)) is not None]
    found = curves_of(steps) | {"throughput": rates}
    reward = _draw_reward(found, held_out)
    changing = {name: points for name, points in found.items() if _varies(points)}
    signs = [_draw(changing[name], title) for name, title in _SIGNS.items() if name in changing]
    return TrainingCharts(reward, signs, list(_draw_others(changing)))


def _draw_reward(
    found: Mapping[str, Sequence[tuple[float, float]]], held_out: Mapping[str, Sequence[Point]]
) -> str:
    """In training, with a band of one standard deviation of the rollouts, and on held-out ones."""
    spread = dict(found.get("reward_std", ()))
    trained = [
        Point(x, y, y - spread[x], y + spread[x]) if x in spread else Point(x, y)
        for x, y in found.get("reward", ())
    ]
    curves = [Curve("in training", trained)]
    curves += [
        Curve(
            shorten(f"in training, {name.removeprefix(_REWARDS)}", LONGEST_LABEL), _points(values)
        )
        for name, values in found.items()
        if name.startswith(_REWARDS)
    ]
    for name, points in held_out.items():
        title = f"held out, {name}" if name else "held out"
        curves.append(Curve(shorten(title, LONGEST_LABEL), points, is_line=False))
    curves = [each for each in curves if each.points]
    title = "Mean reward"
    if len(curves) > _MOST_CURVES:
        title += f" (the first {_MOST_CURVES} of {len(curves)} curves)"
    return draw_curves(curves[:_MOST_CURVES], title, "Step", "Reward") if curves else ""


def _draw_others(found: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[str]:
    parts = [
        Curve(shorten(name.removeprefix(_SECONDS), LONGEST_LABEL), _points(points))
        for name, points in found.items()
        if name.startswith(_SECONDS)
    ]
    if parts:
        yield draw_curves(parts[:_MOST_CURVES], "Seconds of a step")
    for name, points in found.items():
        if name not in _SIGNS and name != "reward" and not name.startswith((_SECONDS, _REWARDS)):
            own = name.removeprefix(_EXTRA)
            yield _draw(points, _TITLES.get(own) or own.replace("_", " ").capitalize())


def _draw(points: Sequence[tuple[float, float]], title: str) -> str:
    title = shorten(title, LONGEST_LABEL)
    return draw_curves([Curve(title, _points(points))], title)


def training_page(
    saved: SavedTraining, steps: Sequence[Mapping[str, Any]], facts: Iterable[tuple[str, str]]
) -> bytes:
    """The page of a training with these `steps`; `facts` are labelled texts."""
    plan = saved.manifest.plan
    title = f"Training {saved.manifest.run_id}"
    cards = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>"
        for label, text in (*facts, ("Exported by", f"prime {__version__}"))
    )
    subtitle = f"{saved.environments} with {plan.model}, since {saved.manifest.started}"
    charts = files("prime_cli.pages") / "static" / "charts.css"
    style = page_part("page.css") + charts.read_bytes().replace(b"\r\n", b"\n")
    body = (
        f"<body>\n<header><h1>{escape(title)}</h1>"
        f'<p class="quiet">{escape(subtitle)}</p></header>\n<main>\n'
        f'<section><h2>Summary</h2><dl class="cards">{cards}</dl></section>\n'
        f"<section><h2>Reward</h2>{_charts(steps, saved.facts.evaluations)}</section>\n"
        "</main>\n</body>\n</html>\n"
    )
    return page_head(title, style) + body.encode()


def _charts(steps: Sequence[Mapping[str, Any]], evaluations: Sequence[Evaluation]) -> str:
    if not steps:
        return '<p class="quiet">No step has ended yet.</p>'
    held_out: dict[str, list[Point]] = {}
    for each in evaluations:
        if each.reward is not None:
            point = Point(each.step, each.reward)
            held_out.setdefault(each.environment or "", []).append(point)
    drawn = draw_training(steps, held_out)
    others = f"<details><summary>All metrics</summary>{_side_by_side(drawn.others)}</details>"
    return drawn.reward + _side_by_side(drawn.signs) + (others if drawn.others else "")


def _side_by_side(charts: Sequence[str]) -> str:
    return f'<div class="charts side-by-side">{"".join(charts)}</div>'


def _varies(points: Sequence[tuple[float, float]]) -> bool:
    return len({value for _, value in points}) > 1


def _points(values: Sequence[tuple[float, float]]) -> list[Point]:
    return [Point(step, value) for step, value in values]
