"""With which words machines are looked for and rented."""

from tests.commands.walk.entry import SERVED, Entry

_A100 = "pods create --gpu-type a100"

OF_RENTING: dict[str, tuple[Entry, ...]] = {
    "prime availability list": (
        Entry("availability list", hub=SERVED),
        Entry("availability list --gpu-type h10", hub=SERVED),
    ),
    "prime availability gpu-types": (Entry("availability gpu-types", hub=SERVED),),
    "prime availability disks": (Entry("availability disks", hub=SERVED),),
    "prime pods create": (
        Entry(f"{_A100} --dry-run", wrong="pods create --gpu-type b200 --yes", hub=SERVED),
        Entry(f"{_A100} --for 2h --env HOME --yes --wait", hub=SERVED, changes=True),
    ),
}
