"""The hub's tables, and how they are reached: SQLAlchemy Core, synchronous."""
