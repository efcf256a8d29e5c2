"""The clouds that there are; here a cloud is its name."""

CLOUD_REGISTRY = {"aws": "aws", "gcp": "gcp"}
