"""The pages on which people label rollouts: who does, and one rollout, without its scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from prime_cli.pages.runs import Link
from prime_cli.pages.templates import Page
from prime_cli.pages.texts import Text
from prime_cli.pages.turns import Conversation


@dataclass(frozen=True)
class PeopleView:
    """Who has labelled how much of a run; `command` is what to do next."""

    path: str
    run: Link
    people: Sequence[tuple[Link, str]]
    note: str
    command: str


@dataclass(frozen=True)
class LabelView:
    """A rollout that a person labels; `path` takes the form, and `people` is who else labels.

    `said` is the label that it has by this person, empty for none, and `previous` where the one
    labelled before is.
    """

    path: str
    people: Link
    title: str
    done: int
    total: int
    said: str
    previous: str | None
    conversation: Conversation
    answer: Text | None
    command: str
    form_token: str = ""


def render_people(view: PeopleView) -> Page:
    """The page of everybody who labels."""
    return Page("labels.html", "Label rollouts", view, command=(view.command,))


def render_label(view: LabelView) -> Page:
    """The page of a rollout to label."""
    return Page("label.html", view.title, view, command=(view.command,))
