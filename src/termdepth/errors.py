"""The one exception a user is meant to read."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """Something the user can mend. Shown as one line, never as a traceback.

    Args:
        problem: what was wrong, in a few words.
        where: the file, key or task it is about; a line number where there is one.
        hint: what to do about it.
    """

    def __init__(self, problem: str, *, where: str | Path | None = None, hint: str | None = None) -> None:
        self.problem, self.where, self.hint = problem, where, hint
        super().__init__(f"{f'{where}: ' if where else ''}{problem}{f' ({hint})' if hint else ''}")
