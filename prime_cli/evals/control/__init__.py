"""Steering a run from another process: its state, requests, server and client."""
