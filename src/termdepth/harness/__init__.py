"""Run a task with terminus-2: segments in one conversation, a stated cap, one outcome per run."""
