"""When clusters stop by themselves."""

import enum


class AutostopWaitFor(enum.Enum):
    NONE = "none"
