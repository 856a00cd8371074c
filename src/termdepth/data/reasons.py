"""Reasons that pass between stages as text: why a task is not in the list that is sampled from, or not in the sample (App. C).

They stand in `tasks.left_out` and `admission.reason`; what counts or hides tasks by them reads them from here.
"""

from __future__ import annotations

NOT_ASKED_FOR = "name not asked for"
NO_SOLUTION = "no reference solution"
NO_EVIDENCE = "no evidence of a pass"
GROUP_NOT_DRAWN = "group not drawn from"
SPARE = "spare"
NOT_REACHED = "not reached"
