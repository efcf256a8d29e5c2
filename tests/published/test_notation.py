"""The tables of the published API are read as what they say."""

import pytest
from jsonschema import Draft202012Validator

from tests.published.checking import whole
from tests.published.notation import published, read_tables, read_type

TEXT = """# a comment

GET /things/{id}/parts takes Part gives [Part]
    limit  integer>=1<=5
    words  [string]?

Part and nothing else
    name*  string<=3
    size   integer>0?
    where  string|[string?]?
Colour one of red
    green
Colours is {[Colour]}
"""


def test_an_address_has_its_query_its_body_and_its_answer() -> None:
    (address,) = read_tables(TEXT).addresses
    assert (address.method, address.path) == ("GET", "/things/{id}/parts")
    assert address.takes == {"$ref": "#/$defs/Part"}
    assert address.gives == {"type": "array", "items": {"$ref": "#/$defs/Part"}}
    assert address.query["limit"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert address.fits("GET", "/things/7/parts/")
    assert not address.fits("GET", "/things/7/8/parts")


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("Part", {"name": "abc"}, True),
        ("Part", {"name": "abcd"}, False),
        ("Part", {"size": 1}, False),
        ("Part", {"name": "a", "size": None, "where": ["b", None]}, True),
        ("Part", {"name": "a", "size": 0}, False),
        ("Part", {"name": "a", "where": None}, True),
        ("Part", {"name": "a", "other": 1}, False),
        ("Colours", {"sky": ["red", "green"]}, True),
        ("Colours", {"sky": ["blue"]}, False),
    ],
)
def test_a_schema_lets_in_what_its_table_does(name: str, value: object, valid: bool) -> None:
    schemas = read_tables(TEXT).schemas
    validator = Draft202012Validator({**schemas[name], "$defs": schemas})
    assert validator.is_valid(value) is valid


@pytest.mark.parametrize("text", ["two words", "integer>x", "a-b", "[]"])
def test_an_invalid_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no type"):
        read_type(text)


def test_every_name_in_the_tables_is_defined_and_every_schema_is_one() -> None:
    tables = published()
    assert len(tables.addresses) == 23
    for address in tables.addresses:
        for schema in (address.takes, address.gives, *address.query.values()):
            Draft202012Validator.check_schema(schema or {})
    Draft202012Validator.check_schema(whole({}))
    text = str([*tables.schemas.values(), *((each.takes, each.gives) for each in tables.addresses)])
    named = {part.partition("'")[0] for part in text.split("#/$defs/")[1:]}
    assert named <= tables.schemas.keys()


def test_an_address_with_a_name_of_its_own_comes_before_one_that_takes_any() -> None:
    found = published().find("GET", "/pods/status")
    assert found is not None
    assert found.path == "/pods/status"
