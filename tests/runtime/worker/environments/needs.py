"""An environment that cannot be loaded without being told things."""


def load_environment(path, *, split, size: int = 3):
    raise AssertionError("not reached without its arguments")
