"""Failures."""


class NotSupportedError(Exception):
    """A cloud cannot do that."""


class ClusterDoesNotExist(Exception):
    """There is no such cluster."""


class ClusterNotUpError(Exception):
    """A cluster that cannot be reached now."""
