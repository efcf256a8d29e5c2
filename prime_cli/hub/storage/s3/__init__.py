"""Blobs as objects in a bucket of an S3-compatible store, through obstore."""
