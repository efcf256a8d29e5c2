"""Where each rollout of a run is in its file, and its score: small however long they are."""
