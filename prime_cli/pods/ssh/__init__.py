"""Reach pods through OpenSSH: addresses, host keys, aliases, commands and files."""
