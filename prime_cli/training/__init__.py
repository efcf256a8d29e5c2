"""Rollouts for trainers: token ids and log-probabilities as the policy's server returned them."""
