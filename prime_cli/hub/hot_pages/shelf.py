"""Ready pages of one process, no more bytes of them than allowed."""

from collections import OrderedDict
from dataclasses import dataclass

from prime_cli.hub.hot_pages.addresses import Address
from prime_cli.hub.hot_pages.page import Page

Stamp = tuple[int, ...]
"""The serials of what a page shows; see `serials`."""

_OVERHEAD = 1500
"""About what Python needs for an entry beside its body."""
_LARGEST_SHARE = 8


@dataclass(slots=True)
class Entry:
    """A page that was right at `serial`, and is as long as its subject's stamp is `stamp`."""

    page: Page
    serial: int
    stamp: Stamp


class Shelf:
    """Entries by address. Those that were not asked for the longest go first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self._entries: OrderedDict[Address, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, address: Address) -> bool:
        return address in self._entries

    def get(self, address: Address) -> Entry | None:
        """The entry, which is now the last to go."""
        entry = self._entries.get(address)
        if entry is not None:
            self._entries.move_to_end(address)
        return entry

    def put(self, address: Address, entry: Entry) -> None:
        """Keep an entry, in place of an older one; one that takes too much room is not kept."""
        self.drop(address)
        size = _size(address, entry)
        if size > self.capacity // _LARGEST_SHARE:
            return
        self._entries[address] = entry
        self.size += size
        while self.size > self.capacity:
            self.drop(next(iter(self._entries)))

    def drop(self, address: Address) -> None:
        """Forget an entry, if there is one."""
        entry = self._entries.pop(address, None)
        if entry is not None:
            self.size -= _size(address, entry)


def _size(address: Address, entry: Entry) -> int:
    return _OVERHEAD + 3 * len(address.path) + len(entry.page.body)
