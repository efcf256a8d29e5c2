"""Where a machine or a disk is, in words."""


def place_words(country: str | None, data_center: str | None) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty where nothing is."""
    return f"{country} ({data_center})" if country and data_center else country or data_center or ""
