"""A training as one HTML file: its curves, evaluations and plan, without a script."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from prime_cli import __version__
from prime_cli.pages.charts import Curve, Point, draw_curves
from prime_cli.runs.export.page import page_head, page_part
from prime_cli.training.curves import curves_of
from prime_cli.training.record import Evaluation, SavedTraining

_TITLES = {
    "reward": "Reward",
    "no_spread": "Share of groups in which all rewards are equal",
    "length": "Tokens of a rollout",
    "entropy": "Entropy",
    "loss": "Loss",
    "kl": "KL divergence",
    "grad_norm": "Norm of the gradient",
    "logprob_gap": "Gap between recorded and recomputed log-probabilities",
    "version_lag": "Versions between the sampling and the current weights",
    "errors": "Rollouts with an error",
    "memory_mb": "Memory in MB",
}
"""The charts of a page, in their order; a metric that never changes has none."""
_SECONDS, _REWARDS, _OWN = "seconds.", "rewards.", "extra."


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
        f"<section><h2>Curves</h2>{_charts(steps, saved.facts.evaluations)}</section>\n"
        "</main>\n</body>\n</html>\n"
    )
    return page_head(title, style) + body.encode()


def _charts(steps: Sequence[Mapping[str, Any]], evaluations: Sequence[Evaluation]) -> str:
    if not steps:
        return '<p class="quiet">No step has ended yet.</p>'
    found = {name: points for name, points in curves_of(steps).items() if _varies(points)}
    parts = []
    for name, title in _TITLES.items():
        curves = [Curve(name, _points(found[name]))] if name in found else []
        if name == "reward":
            curves = _with_spread(curves, steps) + _held_out(evaluations)
        if curves:
            parts.append(draw_curves(curves, title))
    for table, title in ((_REWARDS, "Reward by environment"), (_SECONDS, "Seconds of a step")):
        curves = [
            Curve(name.removeprefix(table), _points(points))
            for name, points in found.items()
            if name.startswith(table)
        ]
        if curves:
            parts.append(draw_curves(curves, title))
    for name, points in found.items():
        if name.startswith(_OWN):
            own = name.removeprefix(_OWN)
            parts.append(draw_curves([Curve(own, _points(points))], "Of the engine"))
    return f'<div class="side-by-side">{"".join(parts)}</div>'


def _varies(points: Sequence[tuple[float, float]]) -> bool:
    return len({value for _, value in points}) > 1


def _points(values: Sequence[tuple[float, float]]) -> list[Point]:
    return [Point(step, value) for step, value in values]


def _with_spread(curves: Sequence[Curve], steps: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """The reward with a band of one standard deviation of its rollouts."""
    spread = dict(curves_of(steps).get("reward_std", ()))
    return [
        Curve(
            "of the rollouts trained on, and their standard deviation",
            [
                Point(p.x, p.y, p.y - spread[p.x], p.y + spread[p.x]) if p.x in spread else p
                for p in curve.points
            ],
        )
        for curve in curves
    ]


def _held_out(evaluations: Sequence[Evaluation]) -> list[Curve]:
    points: dict[str, list[Point]] = {}
    for each in evaluations:
        if each.reward is not None:
            where = "" if each.environment is None else f" in {each.environment}"
            points.setdefault(where, []).append(Point(each.step, each.reward))
    return [Curve(f"of held-out examples{where}", found) for where, found in points.items()]
