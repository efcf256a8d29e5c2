"""Pages for browsers, which the hub inside a command has no use for.

Every module here that has a `router` is part of a hub that shows pages (`hub.app` finds it).
"""
