"""An environment whose data cannot be fetched."""


def load_environment():
    try:
        raise ConnectionError("no route to the data")
    except ConnectionError as error:
        raise RuntimeError("no data") from error
