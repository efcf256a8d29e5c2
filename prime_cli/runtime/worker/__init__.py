"""Runs an environment; executed by the environment's interpreter, standard library only.

This package is loaded by `__main__` under the private name `_prime_worker` from its own folder,
with no entry in `sys.path`: no module of an environment can be shadowed by one of ours, and none
of ours by one of theirs. Python 3.10 syntax.
"""
