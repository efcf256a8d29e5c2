"""Reading the options that the fields of a record describe."""

from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from prime_cli.core.options import REQUIRED, Option, is_record, option_fields

ROWS = Option("Maximum number of rows.", names=("--num", "-n"), least=1, most=50)
TAG = Option("With this tag.")


@dataclass(frozen=True)
class Query:
    owner: Annotated[str, Option("Of this owner.")]
    num: Annotated[int, ROWS] = 20
    show_all: Annotated[bool, Option("Hidden ones too.")] = False
    tags: Annotated[list[str], TAG] = field(default_factory=list)
    cursor: str | None = None


class WireQuery(msgspec.Struct, frozen=True):
    owner: Annotated[str, Option("Of this owner.")]
    num: Annotated[int, ROWS, msgspec.Meta(ge=1)] = 20
    show_all: Annotated[bool, Option("Hidden ones too.")] = False
    tags: Annotated[list[str], TAG] = []
    cursor: str | None = None


class Resumable(Option, frozen=True):
    may_change: bool = False


@dataclass(frozen=True)
class Request:
    model: Annotated[str, Resumable("The model.", may_change=True)] = ""


@dataclass(frozen=True)
class Plain:
    name: str = ""


def test_fields_with_an_option_are_listed_in_order_with_type_and_default() -> None:
    owner, num, show_all, tags = option_fields(Query)
    assert (owner.name, owner.kind, owner.default) == ("owner", str, REQUIRED)
    assert owner.required
    assert (num.name, num.kind, num.default, num.option) == ("num", int, 20, ROWS)
    assert not show_all.required
    assert (tags.kind, tags.default) == (list[str], [])


def test_a_struct_is_read_as_a_dataclass_is() -> None:
    assert option_fields(WireQuery) == option_fields(Query)


def test_the_name_of_an_option_follows_from_the_field_unless_it_is_given() -> None:
    names = [each.names for each in option_fields(Query)]
    assert names == [("--owner",), ("--num", "-n"), ("--show-all",), ("--tags",)]


def test_a_subclass_of_option_adds_metadata_of_its_own() -> None:
    (model,) = option_fields(Request)
    assert isinstance(model.option, Resumable)
    assert model.option.may_change


def test_only_a_class_with_an_option_is_a_record() -> None:
    assert is_record(Query)
    assert is_record(WireQuery)
    assert not is_record(Plain)
    assert not is_record(str)
    assert not is_record(list[str])
    assert not is_record("Query")
