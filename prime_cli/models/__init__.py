"""Language models as a run sees them: endpoints, their registry, and the gateway to them."""
