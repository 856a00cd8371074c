"""The exact words the harness adds to terminus-2, and nothing else (paper, App. B).

The paper quotes "for the whole task, all k parts together" and "Part i-1 is marked complete. Here is part i of k"; the rest
is worded here. Every run records `DIGEST`, so that a change of a word is a change of the harness.
"""

from __future__ import annotations

import hashlib
import re

_CAP = (
    "\n\nYou have at most {turns} for this task. A turn is one reply of yours together with all the commands in it. "
    "The session is stopped after turn {cap}, and the state it is in then is what counts, whether or not you have marked "
    "the task complete."
)
_CAP_PARTS = (
    "You have at most {turns} for the whole task, all {parts} parts together. A turn is one reply of yours together with "
    "all the commands in it. The session is stopped after turn {cap}; the part you are working on is then checked as it "
    "is, and parts not finished by turn {cap} fail."
)
_PREFACE = (
    "This task has {parts} parts. They are given to you one at a time, in this conversation and in the same terminal. "
    'When a part is finished, set "task_complete": true: its checks run then, and if they pass you get the next part. '
    "If they fail, the task ends. A part cannot be changed any more once it is marked complete.{cap}\n\n"
    "Part 1 of {parts}:\n\n{instruction}"
)
_NEXT = (
    "Part {done} is marked complete. Here is part {part} of {parts}:\n\n{instruction}{used}\n\n"
    "Current terminal screen:\n{screen}"
)
_USED = "\n\nTurns used so far: {used} of {cap}."
CUT_OFF = (
    "none of it was carried out, because your reply was cut off at the output limit. Reply again with less in one turn."
)
SESSION_ENDED = "The terminal session has ended."

DIGEST = hashlib.sha256(
    "\0".join((_CAP, _CAP_PARTS, _PREFACE, _NEXT, _USED, CUT_OFF, SESSION_ENDED)).encode()
).hexdigest()


def _turns(cap: int) -> str:
    return "1 turn" if cap == 1 else f"{cap} turns"


def single_instruction(instruction: str, cap: int | None) -> str:
    """The instruction of a task with one segment; with a cap, its text is appended."""
    return instruction if cap is None else instruction.rstrip() + _CAP.format(turns=_turns(cap), cap=cap)


def first_part(instruction: str, parts: int, cap: int | None) -> str:
    """The first message of a task with several segments: their number, the protocol, the cap if any, and part 1."""
    stated = "" if cap is None else "\n\n" + _CAP_PARTS.format(turns=_turns(cap), parts=parts, cap=cap)
    return _PREFACE.format(parts=parts, cap=stated, instruction=instruction)


def next_part(instruction: str, part: int, parts: int, *, screen: str, used: int, cap: int | None) -> str:
    """The message that brings part `part` (>= 2); under a cap it reports the turns used so far."""
    report = "" if cap is None else _USED.format(used=used, cap=cap)
    return _NEXT.format(done=part - 1, part=part, parts=parts, instruction=instruction, used=report, screen=screen)


def stated_cap(text: str) -> int | None:
    """The cap that a message states, or None. Inverse of `single_instruction` and `first_part`."""
    found = re.findall(r"You have at most (\d+) turns? for (?:this|the whole) task", text)
    return int(found[-1]) if found else None


def current_part(text: str) -> tuple[int, int] | None:
    """(part, parts) that a message brings, or None. Inverse of `first_part` and `next_part`."""
    found = re.findall(r"(?:^Part|\bHere is part) (\d+) of (\d+):$", text, flags=re.MULTILINE)
    return (int(found[-1][0]), int(found[-1][1])) if found else None
