"""Giving pods back."""

import msgspec

from prime_cli.wire.pods.statuses import TERMINATED


class Ended(msgspec.Struct):
    """What `DELETE /pods/{id}` and `DELETE /disks/{id}` answer."""

    status: str = TERMINATED
