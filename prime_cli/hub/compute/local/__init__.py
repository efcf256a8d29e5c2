"""Pods on the machine of the hub in the box: each an sshd, run by its user, with a deadline."""
