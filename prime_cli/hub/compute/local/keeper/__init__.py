"""The process that keeps one pod, from what its folder says.

It is run by the interpreter of prime, imports all it needs at once, and lives as long as its pod.
"""
