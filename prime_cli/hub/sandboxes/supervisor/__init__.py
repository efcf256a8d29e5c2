"""The process that holds a hub's sandboxes, so that they outlive commands and restarts of a hub.

One per folder of data, started on demand; it ends when it has held nothing for a while. It serves
HTTP on a Unix socket that only the hub's own user reaches, and knows tags, not users.
"""
