"""Accounts: members, API keys, logins, secrets and the audit log."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.tables.base import metadata, text

# --- Members, keys and logins ---

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
    # The first characters, to tell keys apart in lists; they open nothing.
    text("prefix"),
    Column("sha256", String, nullable=False, unique=True),
    text("name"),
    # `read`, `write` or `admin`; each includes those before it.
    text("scope"),
    # The one owner that the key is good for; null for the user and all their teams of the user.
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
    # The one environment of the owner that it publishes, by its normalized name, or `*` for all; it
    # may write nothing else. Null for a key that writes what its scope says.
    Column("publishes", String),
)

former_slugs = Table(
    "former_slugs",
    metadata,
    # Another user of this name would be mistaken for the former one.
    Column("slug", String, primary_key=True),
    # Null once that user or team is removed.
    Column("owner_id", ForeignKey("owners.id", ondelete="SET NULL")),
)

challenges = Table(
    "challenges",
    metadata,
    Column("code", String, primary_key=True),
    # Of the token with which the client polls for the approval.
    Column("token_sha256", String, nullable=False, unique=True),
    Column("public_key", Text, nullable=False),
    # The origin of the request, shown to the approver.
    text("address"),
    text("created_at"),
    text("expires_at"),
    # The new key, encrypted for `public_key`, once approved.
    Column("result", Text),
    # The approver's key: an unfetched login ends with it.
    Column("key_id", ForeignKey("keys.id", ondelete="CASCADE"), index=True),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", String, primary_key=True),
    Column("sha256", String, nullable=False, unique=True),
    # Null for one that was made on the machine of the hub; both end it when they go.
    Column("inviter_id", ForeignKey("owners.id", ondelete="CASCADE"), index=True),
    Column("key_id", ForeignKey("keys.id", ondelete="CASCADE"), index=True),
    # The team to join, and the role there; null and `` where it only lets somebody in.
    Column("team_id", ForeignKey("owners.id", ondelete="CASCADE"), index=True),
    text("role"),
    # Whether those who sign up become admins of the hub.
    Column("admin", Boolean, nullable=False),
    # The slug of the one user it is for; null for everybody who has it.
    Column("for_user", String),
    # How many more people it lets in; it is deleted with the last.
    Column("uses_left", Integer, nullable=False),
    text("created_at"),
    text("expires_at"),
)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    # Of the token in the browser's cookie.
    Column("sha256", String, primary_key=True),
    # What the browser does, it does with this key.
    Column("key_id", ForeignKey("keys.id", ondelete="CASCADE"), nullable=False, index=True),
    # Whether the key was made for this session, and ends with it.
    Column("owns_key", Boolean, nullable=False),
    text("created_at"),
    Column("expires_at", String, nullable=False, index=True),
)

# --- Identities of other providers ---

identities = Table(
    "identities",
    metadata,
    # The provider's URL and its lasting name of the user: the claims `iss` and `sub`.
    Column("issuer", String, primary_key=True),
    Column("subject", String, primary_key=True),
    Column("user_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    # To tell identities apart in lists; it proves nothing.
    Column("email", String),
    text("created_at"),
    text("last_used_at"),
)

publishers = Table(
    "publishers",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    # The normalized name of what its jobs may publish, which need not exist yet; `*` for all.
    text("environment"),
    Column("issuer", String, nullable=False, index=True),
    # Claim to pattern, as a JSON object.
    Column("claims", Text, nullable=False),
    # Claim to the value in the first token that matched: ids, which a new owner of an abandoned
    # name does not have.
    Column("pinned", Text, nullable=False),
    text("created_by"),
    text("created_at"),
    Column("last_used_at", String),
)

used_tokens = Table(
    "used_tokens",
    metadata,
    # Of the claims `iss` and `jti`.
    Column("sha256", String, primary_key=True),
    Column("expires_at", String, nullable=False, index=True),
)

# --- Secrets and variables ---

secrets = Table(
    "secrets",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    # Null for a secret of the owner, to be linked to environments.
    Column("environment_id", ForeignKey("environments.id", ondelete="CASCADE"), index=True),
    text("name"),
    # Encrypted; never in any answer.
    Column("value", Text, nullable=False),
    Column("description", Text),
    Column("is_file", Boolean, nullable=False),
    text("created_at"),
    text("updated_at"),
    UniqueConstraint("owner_id", "environment_id", "name"),
)

secret_links = Table(
    "secret_links",
    metadata,
    Column("id", String, primary_key=True),
    Column("secret_id", ForeignKey("secrets.id", ondelete="CASCADE"), nullable=False),
    Column(
        "environment_id",
        ForeignKey("environments.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    text("created_at"),
    UniqueConstraint("secret_id", "environment_id"),
)

variables = Table(
    "variables",
    metadata,
    Column("id", String, primary_key=True),
    Column("environment_id", ForeignKey("environments.id", ondelete="CASCADE"), nullable=False),
    text("name"),
    Column("value", Text, nullable=False),
    Column("description", Text),
    text("created_at"),
    text("updated_at"),
    UniqueConstraint("environment_id", "name"),
)


# --- Counters, audit log and attempts ---

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
    # As `version.publish`; and its object, as `ada/wordle@1.2`.
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

# What owners spent on the models that the hub serves, by month (as `2026-11`) and model.
model_usage = Table(
    "model_usage",
    metadata,
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True),
    Column("month", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("unpriced_calls", BigInteger, nullable=False),
)

# What a user or team may have; null is as for all others.
quotas = Table(
    "quotas",
    metadata,
    # The id of the owner; `*` for all without a number of their own.
    Column("subject", String, primary_key=True),
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE")),
    # Bytes of published files, live pods, tokens a month, and live sandboxes; -1 for as many as
    # wanted.
    Column("storage", BigInteger),
    Column("pods", BigInteger),
    Column("tokens", BigInteger),
    Column("sandboxes", BigInteger),
)
