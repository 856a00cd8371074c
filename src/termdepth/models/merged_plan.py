"""How deep a plan is when its segments are merged into one instruction (App. H). Pure.

No plan is rewritten: its `when` strings occur in the merged instruction too, and `scripted` sends the nodes of all segments
where a task comes in one piece. A later segment's commands rely on the state that the earlier ones leave, so they are sent
when all of those are sent, at the earliest in the same turn.
"""

from __future__ import annotations

from termdepth.models.plan import Node, Plan


def merged_levels(plan: Plan) -> dict[str, int]:
    """For each node the first turn (from 1) in which it can be sent when the task comes in one piece."""
    by_id = {node.id: node for node in plan.nodes}
    levels: dict[str, int] = {}

    def level(node: Node, earliest: int) -> int:
        if node.id not in levels:
            before = [level(by_id[b], earliest) for b in plan.edges[node.id]]
            levels[node.id] = max([earliest, *(b + 1 for b in before)])
        return levels[node.id]

    earliest = 1
    for segment in range(1, plan.segments + 1):
        earliest = max([earliest, *(level(node, earliest) for node in plan.of_segment(segment))])
    return levels


def merged_plan_depth(plan: Plan) -> int:
    """Known depth in turns of the merged task. Never more than `plan_depth`, where each segment starts a new turn."""
    return max(merged_levels(plan).values())
