"""TRL's GRPOTrainer on rollouts of prime; imports nothing of prime."""
