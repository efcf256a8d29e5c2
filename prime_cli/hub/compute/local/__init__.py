"""Pods on the machine of the hub in the box: an sshd each, of its user, with a deadline."""
