"""Answers of endpoints, kept from one run to the next for who asks for it."""
