"""The full-text indexes over the table `listed`, by database; metadata and schema 3 make both.

SQLite: rowids of `environments` change with VACUUM, so the index goes by `listed.number`. It keeps
neither the order of words nor their texts; `=` and `_` stand in tokens that are no words.
PostgreSQL: with more of the commonest words counted, its planner knows when to walk through the
rows and when to look them up.
"""

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
