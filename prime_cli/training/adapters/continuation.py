"""Prompts that continue with what was sampled, as the TRL engine makes them."""

from prime_cli.training.engines.trl.prime_trl.conversations import Conversations

__all__ = ["Conversations"]
