"""Rollouts of `prime rollouts serve` for trainers that are started by their own programs.

Copied into the trainer's project by `prime rollouts adapter`: the standard library, and in each
module the trainer's own packages. Python 3.10 and later.
"""
