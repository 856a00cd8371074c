"""Measure the work and the depth of terminal tasks (arXiv 2611.01927)."""

__version__ = "0.1.0"
