"""What a hub does, one function a request: values in, wire structs out, errors of `core`."""
