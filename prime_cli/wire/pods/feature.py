"""What hubs of ours have beyond the published pods API: its name, and the deadlines of pods."""

from datetime import timedelta

FEATURE = "pods"
"""The name under which hubs of ours announce what they have beyond the published API: deadlines
(`stopAt`), several nodes, the host keys of pods, when they were last started again
(`startedAgain`), sweeping, and ending what is another's."""

DEFAULT_LIFE = timedelta(hours=24)
"""How long a pod of our hubs is there where nobody says it."""

LONGEST_LIFE = timedelta(days=366)
"""How long one may be there."""
