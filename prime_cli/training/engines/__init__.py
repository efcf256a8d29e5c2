"""Trainers as plugins: a folder with engine.toml and a program for another interpreter."""
