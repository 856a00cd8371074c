"""Untrusted text made fit to be shown: control characters made visible, long text cut, names safe as file names. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

# C0 and C1 but tab and newline; soft hyphen; direction marks and overrides; characters without width (the joiners stay:
# scripts and emoji need them); line separators; interlinear and tag characters; lone surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){4,}")

HEAD_LINES, HEAD_CHARS = 12, 1_200


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"⟨U+{code:04X}⟩"


def clean(text: str) -> str:
    """`text` with every character that is not seen, or that changes how its neighbours are shown, made visible.

    ESC becomes ␛, NUL ␀, U+202E the six letters ⟨U+202E⟩; tab, newline and \\r\\n stay what they are.
    """
    return _UNSEEN.sub(_picture, text.replace("\r\n", "\n"))


def squeeze(text: str) -> str:
    """Text of a terminal without the empty screen below it: no blank end, and a count in place of many blank lines."""
    stripped = text.replace("\r\n", "\n").rstrip()
    return _BLANK_LINES.sub(lambda m: f"\n[{m[0].count(chr(10)) - 1} blank lines]\n", stripped)


@dataclass(frozen=True)
class Block:
    """A text for a page: `head` is seen at once, `rest` on request, `left_out` characters are not on this page."""

    head: str
    rest: str
    left_out: int

    @property
    def rest_lines(self) -> int:
        return self.rest.count("\n") + 1 if self.rest else 0


def block(text: str, limit: int) -> Block:
    """The first `limit` characters of a text, in two parts where they are long."""
    shown = text[:limit]
    lines = shown.split("\n")
    if len(lines) <= HEAD_LINES + 3 and len(shown) <= HEAD_CHARS + 400:
        return Block(shown, "", len(text) - len(shown))
    head = "\n".join(lines[:HEAD_LINES])[:HEAD_CHARS]
    return Block(head, shown[len(head) :].removeprefix("\n"), len(text) - len(shown))


def file_name(*parts: str) -> str:
    """A file name for any texts: a readable part of the last, and a digest of all that tells them apart.

    Only a-z, 0-9 and dashes, at most 61 characters, so that it is safe on every file system, whatever its case rule.
    """
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    ascii_ = unicodedata.normalize("NFKD", parts[-1]).encode("ascii", "ignore").decode().lower()
    readable = re.sub(r"[^a-z0-9]+", "-", ascii_)[:48].strip("-")
    return f"{readable}-{digest}" if readable else digest
