"""Turn one word into another, one letter at a time, over words from a list."""

from word_ladder.taskset import WordLadderTaskset

__all__ = ["WordLadderTaskset"]
