"""With which words the commands of `prime hub` are run."""

from tests.commands.walk.entry import Entry

OF_HUBS: dict[str, tuple[Entry, ...]] = {
    "prime hub user add": (
        Entry(
            "hub user add eve --data {served}",
            wrong="hub user add ada --data {served}",
            wrong_code=7,
            changes=True,
        ),
    ),
    "prime hub user list": (
        Entry("hub user list --data {served}", wrong="hub user list --data {here}"),
    ),
    "prime hub user remove": (
        Entry(
            "hub user remove bob --yes --data {served}",
            wrong="hub user remove eve --yes --data {served}",
            changes=True,
        ),
    ),
    "prime hub team add": (
        Entry(
            "hub team add crew --member bob --data {served}",
            wrong="hub team add crew --member eve --data {served}",
            changes=True,
        ),
    ),
    "prime hub team list": (Entry("hub team list --data {served}"),),
    "prime hub team remove": (
        Entry(
            "hub team remove lab --yes --data {served}",
            wrong="hub team remove crew --yes --data {served}",
            changes=True,
        ),
    ),
    "prime hub token add": (
        Entry(
            "hub token add bob --data {served}",
            wrong="hub token add eve --data {served}",
            changes=True,
        ),
    ),
    "prime hub token list": (Entry("hub token list --data {served}"),),
    "prime hub token remove": (
        Entry(
            "hub token remove {token} --data {served}",
            wrong="hub token remove no-such --data {served}",
            changes=True,
        ),
    ),
    "prime hub approve": (
        Entry(
            "hub approve {login} --user bob --data {served}",
            wrong="hub approve AAAA-AAAA --user bob --data {served}",
            changes=True,
        ),
    ),
    "prime hub audit": (Entry("hub audit --data {served}"),),
    "prime hub migrate": (Entry("hub migrate --data {served}"),),
    "prime hub gc": (Entry("hub gc --data {served}", changes=True),),
    "prime hub backup": (
        Entry(
            "hub backup new.tar --data {served}",
            wrong="hub backup {backup} --data {served}",
            wrong_code=7,
            changes=True,
        ),
    ),
    "prime hub restore": (
        Entry(
            "hub restore {backup} --data {here}/restored",
            wrong="hub restore no.tar --data {here}/restored",
            changes=True,
        ),
    ),
}
