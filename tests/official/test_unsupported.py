"""What this hub does not do is said by official clients too, and is no empty list."""

from collections.abc import Callable

import pytest

from tests.helpers.official import KNOWN, NEWEST
from tests.official.users import User

pytestmark = pytest.mark.slow

COMMANDS = {
    ("tunnel", "list"): "This hub has no tunnels",
    ("train", "models"): "This hub trains no models",
    ("images", "list"): "This hub builds no images",
    ("wallet",): "This hub has no billing",
}


@pytest.mark.parametrize("release", [KNOWN[NEWEST]], ids=[NEWEST], indirect=True)
def test_commands_for_what_is_not_here_say_so(make_user: Callable[[], User]) -> None:
    ada = make_user()
    for words, sentence in COMMANDS.items():
        done = ada.prime(*words)
        said = " ".join((done.out + done.err).split())
        assert (done.code != 0, sentence in said) == (True, True), (words, said)
