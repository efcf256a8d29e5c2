"""With which words the commands about keys, secrets, variables and stars are run."""

from tests.commands.walk.entry import SERVED, Entry

_NONE = "no-such"

_KEPT: dict[str, tuple[str, str, int]] = {
    "prime secret set": ("API_TOKEN", "api-token", 2),
    "prime env secret set": ("ada/puzzle API_TOKEN", "ada/nothing API_TOKEN", 6),
    "prime env var set": ("ada/puzzle SIZE --value 3", "ada/nothing SIZE --value 3", 6),
}
_FOUND: dict[str, tuple[str, str]] = {
    "prime secret get": ("PLANTED", _NONE),
    "prime secret update": ("PLANTED --name OTHER", f"{_NONE} --name OTHER"),
    "prime secret delete": ("PLANTED --yes", f"{_NONE} --yes"),
    "prime env secret update": (
        "ada/puzzle PLANTED --description new",
        f"ada/puzzle {_NONE} --name OTHER",
    ),
    "prime env secret delete": ("ada/puzzle PLANTED --yes", f"ada/puzzle {_NONE} --yes"),
    "prime env secret link": ("ada/puzzle PLANTED", f"ada/puzzle {_NONE}"),
    "prime env secret unlink": ("ada/puzzle LINKED --yes", f"ada/puzzle {_NONE} --yes"),
    "prime env var update": ("ada/puzzle SIZE --name COUNT", f"ada/puzzle {_NONE} --name COUNT"),
    "prime env var delete": ("ada/puzzle SIZE --yes", f"ada/puzzle {_NONE} --yes"),
    "prime env fork": ("ada/puzzle --team lab", "ada/nothing"),
    "prime env star": ("ada/puzzle", "ada/nothing"),
    "prime env unstar": ("ada/puzzle", "ada/nothing"),
    "prime env yank": ("ada/puzzle@1.2 --reason wrong", "ada/puzzle@7"),
    "prime env unyank": ("ada/puzzle@1.2", "ada/puzzle@7"),
}


def _entry(command: str, words: str, wrong: str, code: int = 6, stdin: str = "") -> Entry:
    name = command.removeprefix("prime ")
    return Entry(
        f"{name} {words}",
        wrong=f"{name} {wrong}",
        wrong_code=code,
        changes=True,
        stdin=stdin,
        hub=SERVED,
    )


OF_SECRETS: dict[str, tuple[Entry, ...]] = {
    **{
        command: (_entry(command, words, wrong, code, stdin="kept"),)
        for command, (words, wrong, code) in _KEPT.items()
    },
    **{command: (_entry(command, words, wrong),) for command, (words, wrong) in _FOUND.items()},
    "prime secret list": (
        Entry("secret list", hub=SERVED),
        Entry("secret list --team lab", wrong="secret list --team no-such", hub=SERVED),
    ),
    "prime env secret list": (
        Entry("env secret list ada/puzzle", wrong="env secret list ada/nothing", hub=SERVED),
    ),
    "prime env var list": (
        Entry("env var list ada/puzzle", wrong="env var list ada/nothing", hub=SERVED),
    ),
    "prime keys list": (Entry("keys list", hub=SERVED),),
    "prime identities list": (Entry("identities list", hub=SERVED),),
    "prime identities unlink": (
        Entry(
            "identities unlink {identity} --yes",
            wrong="identities unlink no-such --yes",
            changes=True,
            hub=SERVED,
        ),
    ),
    "prime keys create": (
        Entry(
            "keys create --name ci --scope read --expires 30d",
            wrong="keys create --owner no-such",
            is_text=True,
            changes=True,
            hub=SERVED,
        ),
    ),
    "prime keys revoke": (
        Entry(
            "keys revoke spare --yes", wrong="keys revoke no-such --yes", changes=True, hub=SERVED
        ),
    ),
}
