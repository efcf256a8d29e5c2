"""What the hub in this process logs is a warning like any other, and told once."""

import logging

from prime_cli.core.progress import Silent, forward_warnings

LOG = logging.getLogger("prime_cli.hub.anything")


def test_a_warning_is_reported_once_and_nothing_more_after_the_end() -> None:
    progress = Silent()
    with forward_warnings("prime_cli.hub", progress):
        LOG.warning("The provider `%s` failed: %s", "sky", "no cloud")
        LOG.warning("The provider `%s` failed: %s", "sky", "no cloud")
        LOG.info("nothing to see")
    LOG.warning("too late")
    assert progress.warned == ["The provider `sky` failed: no cloud"]


def test_a_bug_is_reported_with_its_exception_and_without_a_traceback() -> None:
    progress = Silent()
    with forward_warnings("prime_cli.hub", progress):
        try:
            int("of no use")
        except ValueError:
            LOG.exception("The provider `sky` has a bug")
    (told,) = progress.warned
    assert told.startswith("The provider `sky` has a bug: ValueError(")
    assert "\n" not in told
