"""Where each rollout of a run lies in its file, and what it scored: small however long they are."""
