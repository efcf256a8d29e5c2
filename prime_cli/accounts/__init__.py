"""Being somebody on a hub: logging in and out, and the teams that one works for."""
