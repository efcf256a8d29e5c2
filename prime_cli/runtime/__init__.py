"""Other interpreters: create and cache them, find the right verifiers, talk to the worker."""
