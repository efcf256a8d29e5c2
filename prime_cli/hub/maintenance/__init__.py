"""What keeps a hub's data in order: garbage, backups. For commands beside the server."""
