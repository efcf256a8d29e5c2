"""Pods: offers of the hub's providers, and the pods created from them."""
