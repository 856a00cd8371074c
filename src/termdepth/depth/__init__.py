"""Which run comes next, and what D, N and R are: pure (paper, section 3.1 and App. B)."""

from termdepth.depth.protocol import Estimate, Protocol, Run, RunRequest, estimate, next_run

__all__ = ["Estimate", "Protocol", "Run", "RunRequest", "estimate", "next_run"]
