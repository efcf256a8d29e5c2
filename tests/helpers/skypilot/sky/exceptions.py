"""Failures."""


class NotSupportedError(Exception):
    """A cloud cannot do that."""


class ClusterDoesNotExist(Exception):
    """There is no such cluster."""
