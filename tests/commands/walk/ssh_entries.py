"""With which words the commands that reach pods are run: nothing listens where `web` is said to."""

from tests.commands.walk.entry import SERVED, Entry

OF_SSH: dict[str, tuple[Entry, ...]] = {
    "prime pods ssh": (
        Entry(
            "pods ssh web --print --no-wait",
            wrong="pods ssh no-such --print",
            is_text=True,
            hub=SERVED,
            changes=True,
        ),
    ),
}

REACHING_ALONE = {
    "prime pods exec": "prints what the command prints",
    "prime pods cp": "shows what scp shows",
}
"""Commands that have no `--output`, and why."""
