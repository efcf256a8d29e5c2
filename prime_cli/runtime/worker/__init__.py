"""Runs an environment; executed by the environment's interpreter, standard library only.

This package is loaded by `__main__` under the private name `_prime_worker` from its own folder,
with no entry in `sys.path`: an environment's modules and ours cannot shadow each other. Python 3.10
syntax.
"""
