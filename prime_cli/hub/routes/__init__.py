"""The hub's routes. A route reads the request, calls one service and writes the response."""
