"""The hub's routes. A route reads the request, calls one service and writes the response.

Every module here that has a `router` is part of the hub (`hub.app` finds it).
"""
