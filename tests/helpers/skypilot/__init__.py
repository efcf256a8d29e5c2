"""A SkyPilot for tests: a package `sky` that is told by a file what to answer.

It is copied into a virtual environment, where the provider finds and runs it as a real one.
"""
