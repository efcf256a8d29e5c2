"""The offer of a machine that pods share."""

from prime_cli.hub.compute.machine import Gpus, Machine
from prime_cli.wire.offers import check_count


def test_a_disk_that_filled_up_since_the_offer_was_read_is_no_error() -> None:
    before = Machine("local", 2, 8, disk=250, disk_free=64, gpus=Gpus())
    now = Machine("local", 2, 8, disk=250, disk_free=63, gpus=Gpus())
    read = before.offer(taken=False).disk.default_count
    assert read == 64
    check_count(now.offer(taken=False).disk, read, "diskSize")
