"""Whether an endpoint refuses a key, and not a call: told by the first calls to it."""

from http import HTTPStatus
from urllib.parse import urlsplit

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.models.endpoints import Endpoint

_FORBIDDEN_IN_A_ROW = 3
"""403 may be about one prompt (moderation); so many in a row, and no answer, are about the key."""

_REFUSED_IN_A_ROW = 10
"""401 after answers: a key that has expired, or one of several servers that is out of order."""

_LET_IN = (HTTPStatus.OK, HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


class Refusals:
    """Counts what the endpoints of a run's model say; those of judges are not looked at.

    `doubtful` from a first 401 or 403 on, as long as no call was answered: nothing more is to be
    sent before `verdict`, to be asked when all that is in flight has come back.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._own = {id(member) for member in endpoint.group}
        self._answered = False
        self._row: list[int] = []
        self._from = endpoint

    @property
    def doubtful(self) -> bool:
        """Whether the key may be refused."""
        return bool(self._row) and (not self._answered or self._is_enough())

    def learn(self, endpoint: Endpoint, status: int) -> None:
        """Take the status of one answer."""
        if id(endpoint) not in self._own:
            return
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._from = endpoint
            self._row.append(status)
        elif status in _LET_IN:
            self._answered = True
            self._row.clear()

    def verdict(self) -> NotAllowed | None:
        """Why no call has a chance; None where the next one may have one."""
        return refusal(self._from, self._row[-1]) if self._is_enough() else None

    def _is_enough(self) -> bool:
        refused = self._row.count(HTTPStatus.UNAUTHORIZED)
        if self._answered:
            return refused >= _REFUSED_IN_A_ROW
        return refused > 0 or len(self._row) >= _FORBIDDEN_IN_A_ROW


def refusal(endpoint: Endpoint, status: int) -> NotAllowed | None:
    """What is told of an endpoint that answers 401 or 403; None for another status."""
    where = urlsplit(endpoint.url).netloc
    if status == HTTPStatus.UNAUTHORIZED:
        return NotLoggedIn(
            f"{where} refused the key for `{endpoint.model}`",
            hint="check the variable that `-k` or the registry's `key` names",
        )
    if status == HTTPStatus.FORBIDDEN:
        return NotAllowed(
            f"{where} does not let this key use its models",
            hint="check the account's rights, or name another key with `-k VARIABLE`",
        )
    return None
