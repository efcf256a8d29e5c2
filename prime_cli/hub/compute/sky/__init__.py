"""Pods of a SkyPilot that the user has installed: clouds, Kubernetes, Slurm and SSH hosts.

SkyPilot is no dependency: it is 460 MB of packages whose pins fight with ours. What needs it is a
script of ours, `driver`, that the interpreter which owns SkyPilot runs; JSON goes in and out.
"""
