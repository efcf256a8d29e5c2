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
    # The key that it was made with, which takes it along when it goes; null for one that was made
    # on the machine of the hub. Looked at when all is written: a backup comes in any order.
    Column(
        "parent_id",
        ForeignKey("keys.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"),
        index=True,
    ),
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
    # The key of whoever has approved: a login that is not fetched yet goes with it.
    Column("key_id", ForeignKey("keys.id", ondelete="CASCADE"), index=True),
)
