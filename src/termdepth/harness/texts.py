"""The exact words the harness adds to terminus-2, and nothing else (paper, App. B).

The paper quotes "for the whole task, all k parts together" and "Part i-1 is marked complete. Here is part i of k"; the rest
is worded here. Every run records `DIGEST`, so that a change of a word is a change of the harness.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

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
_GIVEN = "\n\nPart {part} of {parts}:\n\n{instruction}"
_USED = "\n\nTurns used so far: {used} of {cap}."
CUT_OFF = (
    "none of it was carried out, because your reply was cut off at the output limit. Reply again with less in one turn."
)
SESSION_ENDED = "The terminal session has ended."

DIGEST = hashlib.sha256(
    "\0".join((_CAP, _CAP_PARTS, _PREFACE, _NEXT, _GIVEN, _USED, CUT_OFF, SESSION_ENDED)).encode()
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


def given_so_far(instructions: Sequence[str], parts: int, cap: int | None) -> str:
    """All that was asked so far, for a context compression: the cap stays stated, and the parts stay told apart."""
    if parts == 1:
        return single_instruction(instructions[0], cap)
    later = (_GIVEN.format(part=i, parts=parts, instruction=text) for i, text in enumerate(instructions[1:], 2))
    return first_part(instructions[0], parts, cap) + "".join(later)


def _regex(template: str, **fields: str) -> str:
    """What `template.format` gives, as a regular expression with a group for each field."""
    pattern = re.escape(template)
    for name, group in fields.items():
        field = re.escape("{" + name + "}")
        pattern = pattern.replace(field, f"(?P<{name}>{group})", 1).replace(field, f"(?P={name})")
    return pattern


_STATED = re.compile(_regex(_CAP, turns=r"1 turn|\d+ turns", cap=r"\d+"))
_FIRST = re.compile(
    r"\s*"
    + _regex(_PREFACE.partition("{cap}")[0], parts=r"\d+")
    + "(?:\n\n"
    + _regex(_CAP_PARTS.replace("{parts}", "{all}"), turns=r"1 turn|\d+ turns", all=r"\d+", cap=r"\d+")
    + r")?\s*Part (?P<part>1) of (?P=parts):"
)
_LATER = re.compile(r"\s*" + _regex(_NEXT.partition("\n")[0], done=r"\d+", part=r"\d+", parts=r"\d+"))


def stated_cap(text: str) -> int | None:
    """The cap that a message states, or None. Inverse of `single_instruction` and `first_part`, whatever the instruction
    itself says about turns; only the whole of the harness's own words counts."""
    if first := _FIRST.match(text):
        return int(first["cap"]) if first["cap"] else None
    found = list(_STATED.finditer(text))
    return int(found[-1]["cap"]) if found else None


def current_part(text: str) -> tuple[int, int] | None:
    """(part, parts) that a message brings, or None. Inverse of `first_part` and `next_part`, whatever the instruction says."""
    found = _FIRST.match(text) or _LATER.match(text)
    return (int(found["part"]), int(found["parts"])) if found else None
