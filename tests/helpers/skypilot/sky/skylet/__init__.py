"""What runs on clusters."""
