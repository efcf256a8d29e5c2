"""Model endpoints and the gateway through which every model call of a run goes."""
