"""What a scripted model can know: the terminus-2 conversation, taken apart. Pure.

Everything is derived from the message list of one call: the instruction, the stated cap, the current part, the commands of
the model's own earlier replies and the terminal output that came back. Nothing is remembered between calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from termdepth.harness.texts import current_part, stated_cap

PANE_WIDTH = 160  # columns of terminus-2's terminal; capture-pane breaks longer lines there
SUMMARIZE = "You are about to hand off your work to another AI agent"
ASK = "You are picking up work from a previous AI agent"
ANSWER = "The next agent has a few questions for you"
BRIEFLY = "Briefly continue this task:"
_CONFIRM = "Are you sure you want to mark the task as complete?"
_PROGRESS = "Progress: "
_SCREEN = re.compile(
    r"^(?:Current terminal (?:screen|state)|\*\*Current Terminal Screen:\*\*)", re.MULTILINE | re.IGNORECASE
)
_PART = re.compile(r"^Part \d+ is marked complete\. Here is part \d+ of \d+:$", re.MULTILINE)
_PROMPT_END = re.compile(r"[#$>%] ")
_NODES = re.compile(r"^Nodes: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Send:
    """One command of an earlier reply. `turn` counts from 1; 0 for what a summary reports of before."""

    node: str
    command: str
    turn: int


@dataclass
class Conversation:
    """The state of a run, as far as the conversation shows it."""

    opening: str = ""  # the first instruction
    instruction: str = ""  # all that were delivered so far
    cap: int | None = None
    part: int | None = None
    turns: int = 0
    part_turns: int = 0
    sends: list[Send] = field(default_factory=list)
    outputs: list[tuple[int, str]] = field(default_factory=list)  # (turns taken before it was read, text)
    values: dict[str, str] = field(default_factory=dict)  # from a summary
    read: set[str] = field(default_factory=set)  # from a summary
    last: str = ""

    @property
    def turns_left(self) -> int | None:
        return None if self.cap is None else self.cap - self.turns

    @property
    def confirming(self) -> bool:
        return _CONFIRM in self.last

    def times_sent(self, node: str) -> int:
        return sum(send.node == node for send in self.sends)

    def output_after(self, node: str) -> Iterator[str]:
        """The texts read since the node was first sent, without the echo of commands and with wrapped lines joined.

        Since the first: under load its output may come after it was sent again, and then stands before the last echo.
        """
        send = next((s for s in self.sends if s.node == node), None)
        if send is None:
            return
        for turn, text in self.outputs:
            if turn >= send.turn:
                typed = tuple(s.command for s in self.sends if s.turn <= turn)
                screen = read_screen(text, typed)
                yield screen.after(send.command if turn == send.turn else "")

    def progress(self, values: Mapping[str, str], read: Sequence[str]) -> str:
        """The line of a summary from which the conversation goes on after context compression."""
        counts = {node: self.times_sent(node) for node in dict.fromkeys(s.node for s in self.sends)}
        state = {
            "turns": self.turns,
            "part": self.part,
            "part_turns": self.part_turns,
            "sent": counts,
            "read": sorted(read),
            "values": dict(values),
            "instruction": self.instruction,
        }
        return _PROGRESS + json.dumps(state)


def squash(text: str) -> str:
    return "".join(text.split())


@dataclass(frozen=True)
class Screen:
    """Terminal output without the echo of commands. lines: (number, line); echoes: typed line -> number after its last echo."""

    lines: tuple[tuple[int, str], ...]
    echoes: Mapping[str, int]

    def after(self, command: str) -> str:
        """What follows the last echo of the command's last line; everything where there is no echo."""
        typed = command.splitlines()
        start = self.echoes.get(squash(typed[-1]), 0) if typed else 0
        return "\n".join(unwrap([line for number, line in self.lines if number >= start]))


@lru_cache(maxsize=1024)
def read_screen(text: str, commands: tuple[str, ...]) -> Screen:
    """Take out the echo of the commands: shown after a prompt, or bare when typed ahead, and wrapped at the pane's width."""
    typed = {line for command in commands for raw in command.splitlines() if len(line := squash(raw)) > 1}
    lines, kept, echoes, number = text.splitlines(), [], {}, 0
    while number < len(lines):
        echo = _echo_at(lines, number, typed)
        if echo:
            command, number = echo
            echoes[command] = number
        else:
            kept.append((number, lines[number]))
            number += 1
    return Screen(tuple(kept), echoes)


def _echo_at(lines: Sequence[str], start: int, typed: set[str]) -> tuple[str, int] | None:
    """The (squashed) typed line that is echoed from line `start` on, and the number of the line after it."""
    line = lines[start]
    for begin in (0, *(m.end() for m in _PROMPT_END.finditer(line))):
        shown, end = squash(line[begin:]), start + 1
        candidates = [command for command in typed if command.startswith(shown)] if shown else []
        while candidates and shown not in typed and end < len(lines):
            shown, end = shown + squash(lines[end]), end + 1
            candidates = [command for command in candidates if command.startswith(shown)]
        if candidates and shown in typed:
            return shown, end
    return None


def unwrap(lines: Sequence[str], width: int = PANE_WIDTH) -> list[str]:
    """Join each line that fills the pane with the next. Spaces at the break are lost: tmux does not report them."""
    joined: list[str] = []
    full = False
    for line in lines:
        if full:
            joined[-1] += line
        else:
            joined.append(line)
        full = len(line) == width
    return joined


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; providers' list form included."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return ""


def _first_instruction(text: str) -> str:
    """The instruction inside terminus-2's first prompt (the whole text when it is no such prompt)."""
    start = text.find("Task Description:\n")
    body = text[start + len("Task Description:\n") :] if start >= 0 else text
    screens = list(_SCREEN.finditer(body))
    return body[: screens[-1].start()] if screens else body


def sent_by(text: str, turn: int) -> list[Send] | None:
    """The commands of one of our own replies; None when the text is no such reply (prose of a context compression)."""
    try:
        data = json.loads(text)
        names = _NODES.search(data["plan"])
        ids = [name for name in names[1].split(", ") if name] if names else []
        return [Send(i, c["keystrokes"].rstrip("\n"), turn) for i, c in zip(ids, data["commands"], strict=False)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def nodes_line(ids: Sequence[str]) -> str:
    """The line of a reply's plan that `sent_by` reads."""
    return f"Nodes: {', '.join(ids)}"


def _resume(state: Conversation, text: str) -> None:
    """Go on from the progress line of the summary in a compressed conversation's question prompt."""
    line = next((ln for ln in text.splitlines() if ln.startswith(_PROGRESS)), None)
    try:
        data = json.loads(line[len(_PROGRESS) :]) if line else {}
        state.turns, state.part, state.part_turns = int(data["turns"]), data["part"], int(data["part_turns"])
        state.sends = [Send(node, "", 0) for node, count in data["sent"].items() for _ in range(int(count))]
        state.values, state.read, state.instruction = dict(data["values"]), set(data["read"]), str(data["instruction"])
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # somebody else's summary: what it does not say is not known
    screens = list(_SCREEN.finditer(text))
    state.outputs = [(0, text[screens[-1].end() :])] if screens else []


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Take the messages of one call apart. Never raises on odd input: what cannot be read is not known."""
    state = Conversation()
    first = True
    for message in messages:
        text = text_of(message)
        if message.get("role") == "assistant":
            sends = sent_by(text, state.turns + 1)
            if sends is not None:
                state.turns += 1
                state.part_turns += 1
                state.sends += sends
            continue
        if message.get("role") != "user":
            continue
        state.last = text
        head = text.lstrip()
        if head.startswith(ASK):
            _resume(state, text)
        elif head.startswith((SUMMARIZE, ANSWER, BRIEFLY)):
            continue
        elif first:
            state.opening = state.instruction = _first_instruction(text)
            state.cap = stated_cap(state.instruction)
            part = current_part(state.instruction)
            state.part = part[0] if part else None
        elif new := _PART.search(text):
            screens = list(_SCREEN.finditer(text))
            end = screens[-1].start() if screens else len(text)
            part = current_part(text[:end])
            state.part, state.part_turns = (part[0] if part else state.part), 0
            state.instruction += "\n\n" + text[new.end() : end]
            state.outputs.append((state.turns, text[end:]))
        else:
            state.outputs.append((state.turns, text))
        first = False
    return state
