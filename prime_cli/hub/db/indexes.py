"""Full-text and partial indexes by dialect, as SQL that runs after their table is created."""

from prime_cli.wire.environments import SortKey

# --- Full-text indexes ---
# SQLite: rowids of `environments` change with VACUUM, so the index uses `listed.number`. It stores
# neither word order nor text; `=` and `_` occur only in tokens that are not words.
# PostgreSQL: with statistics for more of the commonest words, its planner knows when to scan the
# rows and when to look them up.

SQLITE = (
    """\
CREATE VIRTUAL TABLE search USING fts5(
  tokens, content='listed', content_rowid='number', detail='none', columnsize=0,
  tokenize="ascii tokenchars '=_'"
)""",
    """\
CREATE TRIGGER listed_added AFTER INSERT ON listed BEGIN
  INSERT INTO search(rowid, tokens) VALUES (new.number, new.tokens);
END""",
    """\
CREATE TRIGGER listed_removed AFTER DELETE ON listed BEGIN
  INSERT INTO search(search, rowid, tokens) VALUES ('delete', old.number, old.tokens);
END""",
    """\
CREATE TRIGGER listed_changed AFTER UPDATE ON listed BEGIN
  INSERT INTO search(search, rowid, tokens) VALUES ('delete', old.number, old.tokens);
  INSERT INTO search(rowid, tokens) VALUES (new.number, new.tokens);
END""",
)

POSTGRES = (
    "ALTER TABLE listed ALTER COLUMN tokens SET STATISTICS 1000",
    "CREATE INDEX ix_listed_tokens ON listed USING gin (tokens)",
)


# --- Partial indexes ---
# They are SQL texts because `Index(postgresql_where=…)` imports the whole PostgreSQL dialect, which
# takes a command with the embedded hub longer than opening its database.

ORDER_COLUMNS = {key: "normalized_name" if key is SortKey.NAME else key.value for key in SortKey}
"""The column of `environments` that each order of lists is read from."""


def _walked(*columns: str) -> tuple[str, str]:
    """An index that is walked in the order of its last column; of what lists show only.

    With the version in it SQLite need not look into the rows that an offset passes over.
    """
    name = f"ix_environments_{'_'.join(columns)}"
    return name, (
        f"CREATE INDEX {name} ON environments ({', '.join(columns)}, id, latest_version_id)"
        " WHERE latest_version_id IS NOT NULL"
    )


ENVIRONMENTS = dict(
    _walked(*prefix, column)
    for prefix in (("visibility",), ("owner_id", "visibility"))
    for column in ORDER_COLUMNS.values()
)
"""The statement of each index, by its name, that lists in these orders need."""

ARTIFACTS = {
    "ix_artifacts_unpublished": (
        "CREATE INDEX ix_artifacts_unpublished ON artifacts (created_at) WHERE NOT published"
    )
}
