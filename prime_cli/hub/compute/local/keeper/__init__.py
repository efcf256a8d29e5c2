"""The process that keeps one pod, from what its folder says.

It is run by the interpreter of prime and lives as long as its pod, so it imports all that it needs
at once, and nothing but the standard library: what else is installed may change meanwhile.
"""
