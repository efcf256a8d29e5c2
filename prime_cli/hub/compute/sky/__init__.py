"""Pods of the user's own SkyPilot: clouds, Kubernetes, Slurm and SSH hosts.

SkyPilot is not a dependency: it is 460 MB of packages whose pins conflict with ours. What needs it
is in our script `driver`, run by SkyPilot's own interpreter; it exchanges JSON.
"""
