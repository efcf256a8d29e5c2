import httpx  # noqa: F401 - a worker looks for it here
