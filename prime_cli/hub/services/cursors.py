"""Where the next page begins: a text that clients keep and send back as it is."""

import base64

import msgspec

from prime_cli.core.errors import UsageError

_LONGEST = 1000


class Position(msgspec.Struct, frozen=True, array_like=True):
    """After the environment `id`, whose column of the order holds `key`.

    `order` and `descending` are those of the list that it is a position in.
    """

    order: str
    descending: bool
    key: str | int
    id: str


def write_cursor(position: Position) -> str:
    """The cursor of a position: letters, digits, `-` and `_`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).rstrip(b"=").decode()


def read_cursor(cursor: str, order: str, *, descending: bool) -> Position:
    """The position in a list of that order; raises UsageError.

    A cursor needs no signature: it says where to go on in an order, never what may be seen.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        position = msgspec.json.decode(
            base64.b64decode(padded, altchars=b"-_", validate=True), type=Position
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise _refusal("`cursor` is none that a list has given") from error
    if (position.order, position.descending) != (order, descending):
        raise _refusal("`cursor` is of a list in another order")
    if isinstance(position.key, int) != (order == "stars") or len(position.id) > _LONGEST:
        raise _refusal("`cursor` is none that a list has given")
    return position


def _refusal(sentence: str) -> UsageError:
    return UsageError(sentence, hint="send `next_cursor` of the page before, or begin without one")
