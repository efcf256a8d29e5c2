"""The hub's addresses. A route reads the request, calls one service and writes its answer."""
