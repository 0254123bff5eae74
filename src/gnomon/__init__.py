"""Gnomon: an agent that improves itself, and can prove it."""

__version__ = "0.1.0"
