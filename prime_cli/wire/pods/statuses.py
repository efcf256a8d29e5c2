"""How a pod can be."""

PROVISIONING = "PROVISIONING"
PENDING = "PENDING"
INSTALLING = "INSTALLING"
ACTIVE = "ACTIVE"
STOPPED = "STOPPED"
ERROR = "ERROR"
DELETING = "DELETING"
UNKNOWN = "UNKNOWN"
TERMINATED = "TERMINATED"
FINISHED = "FINISHED"
"""All states of `PodStatusEnum`; INSTALLING is what clients show of an ACTIVE pod that is not
FINISHED, which is a state of its installation."""
