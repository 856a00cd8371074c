"""The merge ablation: the segments of a task given as one instruction, to see how much depth delivery adds (App. H, Fig. 5).

`build` writes the merged task, `checks` says which checks a later segment is meant to change (pure), `protocol` which run
comes next and what D is (pure).
"""
