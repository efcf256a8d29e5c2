"""Pods on the machine of the hub: each a folder, a home in it, and an sshd of OpenSSH.

Every pod has a keeper, a process that outlives the command or hub which started it. The keeper
makes what the pod needs, starts its sshd, and removes it all when told to, or at its deadline.
"""
