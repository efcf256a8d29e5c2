"""HubClient: the only importer of httpx."""
