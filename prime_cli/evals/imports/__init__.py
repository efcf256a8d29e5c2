"""Runs of other tools, made folders of runs that every command reads."""
