"""Sandboxes in a Kubernetes cluster: as agent-sandbox's resource where installed, else as pods."""
