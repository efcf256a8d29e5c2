"""What keeps a hub running: its serial, its audit log, attempts that are counted."""

from sqlalchemy import BigInteger, Column, Integer, String, Table, Text

from prime_cli.hub.db.tables.base import metadata, text

counters = Table(
    "counters",
    metadata,
    # `catalogue`: goes up with every change of what the catalogue or an index shows. `everything`:
    # what that was when more changed than one environment.
    Column("name", String, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String, nullable=False, index=True),
    # The slug of the user, and the id of the key if one was used; `cli` for a command here.
    text("actor"),
    Column("key_id", String),
    Column("address", String),
    # As `version.publish`; and what it was done to, as `ada/wordle@1.2`.
    text("action"),
    text("target"),
    # More, as a JSON object.
    Column("detail", Text, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    # What is counted, as `login 192.0.2.7`.
    Column("name", String, primary_key=True),
    Column("count", Integer, nullable=False),
    text("until"),
)
