"""Scripted models: what to send next, decided from the conversation and a plan. Pure and stateless.

Four habits, after what the paper finds models do (App. B, "Choice of models"): `merge` sends every command that can be
written and packs to a stated cap; `step` sends one command a turn whatever the cap; `blind` writes everything before it has
read anything; `flaky-20` is `merge` with a seeded 20 % chance that a command is wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from termdepth.errors import UserError
from termdepth.models import conversation as talk
from termdepth.models.conversation import Conversation, read_conversation
from termdepth.models.plan import Node, Plan, fill, find_plan

SENDS_PER_NODE = 4  # the first, and up to three more when its output shows that it did not work
CHARACTERS_PER_TOKEN = 4

Kind = Literal["merge", "step", "blind", "flaky"]
_PLAIN: dict[str, Kind] = {"merge": "merge", "step": "step", "blind": "blind"}


@dataclass(frozen=True)
class Habit:
    """How a scripted model works. error_rate: chance of a wrong command per command sent, 0 to 1."""

    kind: Kind
    error_rate: float = 0.0


@dataclass(frozen=True)
class Reply:
    """A reply and its usage, estimated at four characters a token. cached: prompt tokens an earlier call already had."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


def parse_habit(model: str) -> Habit:
    """`merge`, `step`, `blind`, or `flaky-P` with P in percent, with or without `scripted/` before it.

    Raises:
        UserError: for any other name.
    """
    name = model.removeprefix("scripted/")
    if name in _PLAIN:
        return Habit(_PLAIN[name])
    match = re.fullmatch(r"flaky-(\d{1,3})", name)
    if match and int(match[1]) <= 100:
        return Habit("flaky", int(match[1]) / 100)
    raise UserError("no such scripted model", where=model, hint="merge, step, blind, or flaky-P with P from 0 to 100")


def reply(
    messages: Sequence[Mapping[str, Any]], habit: Habit, seed: int | None = None, plans: Iterable[Plan] | None = None
) -> Reply:
    """The reply to a terminus-2 conversation. Same messages, habit and seed: same reply."""
    state = read_conversation(messages)
    plan = find_plan(state.opening, plans)  # the first part decides: a plan is for the whole task
    text = _prose(state, plan)
    if text is None:
        text = _act(_Mind(plan, state, habit, seed or 0)) if plan else _look_around(state)
    sizes = [len(talk.text_of(message)) // CHARACTERS_PER_TOKEN for message in messages]
    cached = sum(sizes[:-1]) if any(message.get("role") == "assistant" for message in messages) else 0
    return Reply(text, sum(sizes), len(text) // CHARACTERS_PER_TOKEN, cached)


class _Mind:
    """What the model knows at this turn, and the commands it can write."""

    def __init__(self, plan: Plan, state: Conversation, habit: Habit, seed: int) -> None:
        self.plan, self.state, self.habit, self.seed = plan, state, habit, seed
        self.values = {
            name: match[1]
            for name, pattern in plan.given.items()
            if (match := re.search(pattern, state.instruction, re.MULTILINE))
        }
        self.read: set[str] = set()
        if habit.kind == "blind":
            return
        self.values |= state.values
        for node in plan.nodes:
            if node.id in state.read:
                self.read.add(node.id)
            elif state.times_sent(node.id):
                self._read(node)

    def _read(self, node: Node) -> None:
        """Look for what the node should have shown. It counts as read when all of it is there."""
        wanted = {**node.captures, **({"": node.expect} if node.expect else {})}
        texts = list(self.state.output_after(node.id)) if wanted else []
        found = {
            name: next((m for text in texts if (m := re.search(pattern, text, re.MULTILINE))), None)
            for name, pattern in wanted.items()
        }
        if all(found.values()):
            self.read.add(node.id)
            self.values |= {name: match[1] or "" for name, match in found.items() if name and match}

    def nodes(self) -> tuple[Node, ...]:
        """Those of the current part; all of them where the task comes in one piece (also merged from several)."""
        return self.plan.nodes if self.state.part is None else self.plan.of_segment(self.state.part)

    def unsent(self) -> list[Node]:
        return [node for node in self.nodes() if not self.state.times_sent(node.id)]

    def unproven(self) -> list[Node]:
        """Sent, but the output does not show that it worked."""
        return [
            node
            for node in self.nodes()
            if 0 < self.state.times_sent(node.id) < SENDS_PER_NODE and node.id not in self.read
        ]

    def ready(self) -> list[Node]:
        """To be sent now, in file order. In a task of one piece, a later segment starts when the one before is sent."""
        again = {node.id for node in self.unproven()}
        chosen: list[Node] = []
        for segment in range(1, self.plan.segments + 1):
            nodes = [node for node in self.nodes() if node.segment == segment]
            now = [
                node
                for node in nodes
                if node.id in again
                or (not self.state.times_sent(node.id) and self.plan.edges[node.id] <= self.read and self.write(node))
            ]
            chosen += now
            if any(not self.state.times_sent(node.id) and node not in now for node in nodes):
                break
        return chosen

    def write(self, node: Node, *, guessing: bool = False) -> str | None:
        """The node's command, or None when something in it is not known."""
        values = {**self.plan.guesses, **self.values} if guessing else dict(self.values)
        try:
            if node.recipe is not None:
                wanted = fill(node.recipe, values)
                command = next((c for recipe in self.plan.recipes if (c := recipe.apply(wanted)) is not None), None)
                if command is None:
                    return None
                values["recipe"] = command
            return fill(node.command or "{recipe}", values)
        except KeyError:
            return None

    def chance(self, node: Node) -> float:
        """A number in [0, 1) that only seed, plan, node and how often it was sent decide."""
        key = f"{self.seed}/{self.plan.name}/{node.id}/{self.state.times_sent(node.id)}"
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64


def _act(mind: _Mind) -> str:
    state, kind = mind.state, mind.habit.kind
    if kind == "blind":
        nodes = [] if state.part_turns else list(mind.nodes())
        return _send(mind, nodes, complete=True, guessing=True)
    ready = mind.ready()
    if kind == "step":
        return _send(mind, ready[:1], complete=not ready)
    if state.turns_left is None:
        return _send(mind, ready, complete=not ready or state.confirming)
    if state.turns_left <= 1:
        left = {node.id for node in (*mind.unsent(), *mind.unproven())}
        return _send(mind, [n for n in mind.nodes() if n.id in left], complete=True, guessing=True)
    sending = {node.id for node in ready}
    return _send(mind, ready, complete=not ready or all(node.id in sending for node in mind.unsent()))


def _send(mind: _Mind, nodes: Sequence[Node], *, complete: bool, guessing: bool = False) -> str:
    ids, commands = [], []
    for node in nodes:
        command = mind.write(node, guessing=guessing)
        if command is None:
            continue
        if mind.chance(node) < mind.habit.error_rate:
            command = spoil(command)
        ids.append(node.id)
        commands.append({"keystrokes": command + "\n", "duration": node.wait})
    known = ", ".join(sorted(mind.values)) or "nothing yet"
    return _json(f"Known from what was read: {known}.", ids, commands, complete)


def _json(analysis: str, ids: Sequence[str], commands: Sequence[Mapping[str, object]], complete: bool) -> str:
    plan = talk.nodes_line(ids) if ids else "Nothing more to send."
    data = {"analysis": analysis, "plan": plan, "commands": commands, "task_complete": complete}
    return json.dumps(data, ensure_ascii=False)


def spoil(command: str) -> str:
    """The command with its first program name misspelt: it fails, and says so."""
    wrong = re.sub(r"\b([a-z])([a-z0-9_]*)\b(?!=)", r"\1\1\2", command, count=1)
    return wrong if wrong != command else "false"


def _look_around(state: Conversation) -> str:
    """No plan fits: look once, then stop."""
    if state.turns:
        return _json("Nothing here says how to go on.", [], [], True)
    return _json("I do not know this kind of task.", [], [{"keystrokes": "ls -la\n", "duration": 0.1}], False)


def _prose(state: Conversation, plan: Plan | None) -> str | None:
    """The reply to a call of terminus-2's context compression; None for an ordinary turn."""
    last = state.last.lstrip()
    if last.startswith(talk.SUMMARIZE):
        mind = _Mind(plan, state, Habit("merge"), 0) if plan else None
        progress = state.progress(mind.values if mind else {}, sorted(mind.read) if mind else [])
        return f"I sent the commands listed below and read what they printed.\n{progress}"
    if last.startswith(talk.ASK):
        return "1. What was done? 2. What was learned? 3. What failed? 4. What is left? 5. What is on the screen?"
    if last.startswith(talk.ANSWER):
        return (
            "All I know is in the summary: what was sent, what was read, and the values found. The rest is left to do."
        )
    if last.startswith(talk.BRIEFLY):
        return "Look at the terminal, then send the commands that are left."
    return None
