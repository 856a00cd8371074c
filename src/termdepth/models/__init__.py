"""Scripted models: agents whose knowledge is a plan, so that the depth of a task they solve is known."""
