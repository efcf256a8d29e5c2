"""Yanking versions (PEP 592): a format of our own, which the public hub does not have."""

import msgspec


class YankRequest(msgspec.Struct, omit_defaults=True):
    """`POST …/@{version}/yank`: why installers should pass the version over."""

    reason: str = ""


class YankReply(msgspec.Struct):
    """What holds now; `yanked` is the reason, which may be empty, or null when it is not yanked."""

    semantic_version: str
    yanked: str | None = None
