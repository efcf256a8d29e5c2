"""Language models for a run: endpoints, their registry, and the gateway to them."""
