"""Indexes of some rows of a table, by name; metadata and schema 3 make them.

They are texts because `Index(postgresql_where=…)` imports the whole PostgreSQL dialect, which takes
a command with the hub in the box longer than to open its database.
"""

_ORDERS = ("normalized_name", "created_at", "updated_at", "stars")


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
    [
        *(_walked("visibility", order) for order in _ORDERS),
        *(_walked("owner_id", "visibility", order) for order in _ORDERS),
    ]
)

ARTIFACTS = {
    "ix_artifacts_unpublished": (
        "CREATE INDEX ix_artifacts_unpublished ON artifacts (created_at) WHERE NOT published"
    )
}
