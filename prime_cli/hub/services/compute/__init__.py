"""Pods: offers of the hub's providers, and the pods that are made of them."""
