"""Signatures of wheels: what is signed, by ssh keys and by identities, and who is believed."""
