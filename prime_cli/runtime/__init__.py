"""Other interpreters: make and cache them, find the right verifiers, talk to the worker."""
