"""An environment whose data cannot be fetched."""


def load_environment():
    raise RuntimeError("no data") from ConnectionError("no route to the data")
