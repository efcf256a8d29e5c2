"""`prime env check --attack`: answers that deserve nothing, and what the rewards pay for them."""
