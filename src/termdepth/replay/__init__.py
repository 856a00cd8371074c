"""Replays of the reference solution with one part removed, to see whether the checks notice (paper, App. F, Table 8).

`changes` says which replays there are (pure), `container` runs one, `verdict` reads what the checks said (pure), `pages`
writes what a task author can act on (pure).
"""
