"""Say a word back; the reward is 1 for exactly that word."""

from bench_v1.taskset import BenchTaskset

__all__ = ["BenchTaskset"]
