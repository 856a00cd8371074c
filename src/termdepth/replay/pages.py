"""A page for each replay that did not go as it should: what was done, which checks passed all the same, the log. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from termdepth.replay.changes import Change, Look
from termdepth.replay.container import Seen
from termdepth.replay.verdict import Verdict, passed_checks

_DONE: dict[Change, str] = {
    "checks_before_work": "The checks of segment {checked} were run before its work was done.",
    "previous_skipped": "The solution of segment {segment} was run without that of segment {previous} before it.",
    "event_removed": "The event `{event}` was removed from the solution of segment {segment}.",
    "key_step_removed": "The key step was removed from the solution of segment {segment}.",
    "key_step_removed_then_next": (
        "The key step was removed from the solution of segment {segment}; then that of segment {checked} was run as it is."
    ),
}
_ADVICE: dict[Change, str] = {
    "checks_before_work": (
        "The segment asks for nothing that its checks can see, or they read what was there before. Check the state that "
        "the work has to produce."
    ),
    "previous_skipped": (
        "The segment uses nothing that segment {previous} left, or its checks cannot tell. Let it need a result of that "
        "segment, and let a check see it."
    ),
    "event_removed": (
        "The event leaves no trace that a check reads. Check a trace the software itself keeps, such as a later start time "
        "or a line in its own log; an event without one cannot be asked for."
    ),
    "key_step_removed": (
        "The checks pass for an answer that is wrong. Check the state in which the usual way and the right one differ."
    ),
    "key_step_removed_then_next": (
        "Segment {checked} does not need what the key step of segment {segment} produces. Let it use a result that is only "
        "there after the key step."
    ),
}
_LONGEST = 20_000  # characters of one output


def page_name(look: Look) -> str:
    """File name of the page, e.g. `2-event_removed-restart.md`."""
    event = f"-{re.sub(r'[^A-Za-z0-9._-]', '_', look.event)[:60]}" if look.event else ""
    return f"{look.segment}-{look.change}{event}.md"


def page(task: str, segments: Sequence[str], look: Look, seen: Seen, verdict: Verdict, changed: str | None) -> str:
    """The page, as Markdown. All that comes from the container is fenced.

    Args:
        segments: names of the task's segments.
        changed: the solution's script as it was run with a part removed, if one was.
    """
    words = {
        "segment": look.segment,
        "checked": look.checked,
        "previous": look.segment - 1,
        "event": _inline(look.event or ""),
    }
    passed = passed_checks(seen.log)
    lines = [f"# {_inline(task)}, segment {look.segment} ({_inline(segments[look.segment - 1])}): {look.change}", ""]
    lines += [_DONE[look.change].format(**words), ""]
    if verdict.holds is None:
        what = "The checks did not run to a result" if verdict.crashed else "The replay did not run to a result"
        lines += [
            f"**{what}: {_inline(verdict.reason or '')}.** That is no failure of a check, so it is counted apart.",
            "",
        ]
    else:
        lines += [
            f"**The checks of segment {look.checked} ({_inline(segments[look.checked - 1])}) passed, and one should have "
            "failed.**",
            "",
            _ADVICE[look.change].format(**words),
            "",
        ]
    if passed:
        title = "## Checks that passed" + ("" if verdict.holds is None else " though one should not")
        lines += [title, "", *(f"- {_inline(name)}" for name in passed), ""]
    if changed is not None:
        lines += ["## The script with the part removed", "", *_fenced(changed, "bash"), ""]
    lines += ["## What the checks printed", "", *_fenced(seen.log), ""]
    for ran in seen.before:
        title = f"## What the solution of segment {ran.segment} printed"
        status = f" (exit status {ran.code})" if ran.code else ""
        lines += [title + (", with the part removed" if ran.changed else "") + status, "", *_fenced(ran.output), ""]
    return "\n".join(lines).rstrip() + "\n"


def _inline(text: str) -> str:
    """One line without Markdown of its own."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _fenced(text: str, language: str = "text") -> list[str]:
    shown = re.sub(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]", "", text)
    if len(shown) > _LONGEST:
        shown = f"{shown[: _LONGEST // 2]}\n[... {len(shown) - _LONGEST} characters ...]\n{shown[-_LONGEST // 2 :]}"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return [f"{fence}{language}", *shown.rstrip("\n").split("\n"), fence] if shown.strip() else ["Nothing."]
