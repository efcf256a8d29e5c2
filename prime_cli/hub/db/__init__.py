"""The hub's database: SQLAlchemy Core, synchronous."""
