"""Sandboxes of this machine, as a program has them."""

from pathlib import Path

from prime_cli import Hub
from prime_cli.envs.project.starters import mark_published
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.tools import needs_bubblewrap


@needs_bubblewrap
def test_a_command_is_words_or_a_text_of_words(home: Path) -> None:
    data = home / ".prime" / "hub"
    mark_published(data)
    with ended_supervisor(data):
        hub = Hub()
        box = hub.sandboxes.create(name="box")
        assert hub.sandboxes.run(box.id, "echo 'a b' c").stdout == "a b c\n"
        assert hub.sandboxes.run(box.id, ["echo", "'a b'"]).stdout == "'a b'\n"
        hub.sandboxes.delete(box.id)
