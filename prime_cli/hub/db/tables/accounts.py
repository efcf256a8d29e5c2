"""Who may do what: members of teams, API keys, logins on their way."""

from sqlalchemy import Column, ForeignKey, String, Table, Text

from prime_cli.hub.db.tables.base import metadata, text

members = Table(
    "members",
    metadata,
    Column("team_id", ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True, index=True),
    # `ADMIN` or `MEMBER`.
    text("role"),
    text("created_at"),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("user_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    # The first characters, which tell keys apart in lists and open nothing.
    text("prefix"),
    Column("sha256", String, nullable=False, unique=True),
    text("name"),
    # `read`, `write` or `admin`; each includes those before it.
    text("scope"),
    # The one owner that the key is good for; null for the user and all teams of the user.
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE")),
    text("created_at"),
    Column("expires_at", String),
    Column("last_used_at", String),
)

former_slugs = Table(
    "former_slugs",
    metadata,
    # Somebody else under this name would be taken for the one who had it.
    Column("slug", String, primary_key=True),
    # Null once that user or team is removed.
    Column("owner_id", ForeignKey("owners.id", ondelete="SET NULL")),
)

challenges = Table(
    "challenges",
    metadata,
    Column("code", String, primary_key=True),
    # Of the token with which the client asks whether it was approved.
    Column("token_sha256", String, nullable=False, unique=True),
    Column("public_key", Text, nullable=False),
    # Whence it was asked, which the one who approves is shown.
    text("address"),
    text("created_at"),
    text("expires_at"),
    # The new key, encrypted for `public_key`, once somebody has approved.
    Column("result", Text),
)
