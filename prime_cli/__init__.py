"""prime: write, share, evaluate and train on RL environments."""

__version__ = "0.1.0"
