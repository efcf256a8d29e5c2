"""The list of environments: its search, filters and cards."""

import shlex

from msgspec import Struct
from msgspec.structs import replace

from prime_cli.core.archive.source_analysis import EnvironmentKind
from prime_cli.core.formatting import pluralize
from prime_cli.pages import links
from prime_cli.pages.environment import Label, label_environment
from prime_cli.pages.templates import Page
from prime_cli.pages.texts import shorten
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.environments import EnvironmentItem, EnvironmentQuery, SortKey
from prime_cli.wire.evaluations import BestEvaluation
from prime_cli.wire.queries import SortOrder

ORDERS = {
    "updated": (SortKey.UPDATED_AT, "last updated"),
    "new": (SortKey.CREATED_AT, "newest"),
    "stars": (SortKey.STARS, "most stars"),
    "downloads": (SortKey.DOWNLOADS, "most downloads"),
    "evaluations": (SortKey.EVALUATIONS, "most evaluations"),
    "name": (SortKey.NAME, "name"),
}
_FIRST = next(iter(ORDERS))


_MOST_TAGS = 8
_LONGEST_TAG = 40
_LONGEST_DESCRIPTION = 500
_LONGEST_MODEL = 80


class EnvironmentCard(Struct, frozen=True):
    """An environment in the list; None for what it was published or is known without."""

    item: EnvironmentItem
    check: CheckSummary | None
    best: BestEvaluation | None

    @property
    def slug(self) -> str:
        """`owner/name`."""
        return f"{self.item.owner.name}/{self.item.name}"

    @property
    def labels(self) -> list[Label]:
        """Its kinds, and the first of its tags; its own page has more."""
        found = label_environment(self.item.kinds, self.item.tags[:_MOST_TAGS])
        return [each if len(each.text) <= _LONGEST_TAG else _cut(each) for each in found]

    @property
    def description(self) -> str:
        """The description, with its length where it is too long for a card."""
        return shorten(self.item.description, _LONGEST_DESCRIPTION)

    @property
    def model(self) -> str:
        """The model with the best score."""
        return shorten(self.best.model_name, _LONGEST_MODEL) if self.best else ""


def _cut(label: Label) -> Label:
    return Label(shorten(label.text, _LONGEST_TAG))


class CataloguePage(Struct, frozen=True):
    """Cards of one page, how many environments there are, and the cursor of the next page."""

    cards: list[EnvironmentCard]
    total: int
    next_cursor: str | None


class FilterChoice(Struct, frozen=True):
    """A value of a filter, and the list that it leads to."""

    value: str
    label: str
    chosen: bool
    path: str


class CatalogueFilter(Struct, frozen=True):
    """What the list is narrowed to and sorted by, as its address says."""

    search: str = ""
    owner: str = ""
    kind: str = ""
    tag: str = ""
    sort: str = _FIRST

    def query(self, cursor: str | None) -> EnvironmentQuery:
        """The same for the hub; an order that does not exist is the first."""
        key, _ = ORDERS.get(self.sort, ORDERS[_FIRST])
        is_kind = self.kind in list(EnvironmentKind)
        return EnvironmentQuery(
            search=self.search or None,
            owner=self.owner or None,
            kind=EnvironmentKind(self.kind) if is_kind else None,
            tags=tuple(tag for tag in (self.tag, "" if is_kind else self.kind) if tag),
            sort_by=key,
            sort_order=SortOrder.ASC if key is SortKey.NAME else SortOrder.DESC,
            cursor=cursor,
        )

    def path(self, cursor: str | None = None) -> str:
        """The address of this list, at a cursor."""
        sort = self.sort if self.sort != _FIRST else ""
        return links.catalogue_path(
            search=self.search,
            owner=self.owner,
            kind=self.kind,
            tag=self.tag,
            sort=sort,
            cursor=cursor,
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.search or self.owner or self.kind or self.tag)


class CatalogueRecord(Struct, frozen=True, kw_only=True):
    """A page of the list, the address of the next one, if any, and the choices of its filters."""

    found: CataloguePage
    filters: CatalogueFilter
    count: str
    next: str | None
    kinds: list[FilterChoice]
    orders: list[FilterChoice]

    @property
    def first_commands(self) -> str:
        """What fills an empty list."""
        return "prime env init my-env\nprime env upload my-env --visibility public"

    @property
    def has_best(self) -> bool:
        """Whether a card names its best evaluation."""
        return any(card.best for card in self.found.cards)


def catalogue_page(found: CataloguePage, filters: CatalogueFilter) -> Page:
    """A page of the list."""
    record = CatalogueRecord(
        found=found,
        filters=filters,
        count=pluralize(found.total, "environment"),
        next=filters.path(found.next_cursor) if found.next_cursor else None,
        kinds=[_choice(filters, "kind", kind, kind or "All") for kind in ("", *EnvironmentKind)],
        orders=[_choice(filters, "sort", name, label) for name, (_, label) in ORDERS.items()],
    )
    return Page("catalogue.html", "Environments", record, command=(_command(filters),))


def _choice(filters: CatalogueFilter, name: str, value: str, label: str) -> FilterChoice:
    path = replace(filters, **{name: value}).path()
    return FilterChoice(value, label, value == getattr(filters, name), path)


def _command(filters: CatalogueFilter) -> str:
    """The list in a terminal."""
    query = filters.query(None)
    words = ["prime", "env", "list"]
    for option, value in (
        ("--search", filters.search),
        ("--owner", filters.owner),
        ("--kind", query.kind or ""),
        *(("--tag", tag) for tag in query.tags),
        ("--sort", query.sort_by.value if filters.sort != _FIRST else ""),
    ):
        words += [option, value] if value else []
    return shlex.join(words)
