"""The client of an environments hub, over a socket or in process; the only importer of httpx."""
