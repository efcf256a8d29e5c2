"""HTML pages from records: no database, no web framework, no network."""
