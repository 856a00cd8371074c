"""Where the here-documents of a shell script are, by bash's own reading rules.

tree-sitter-bash knows which line is a command and which is a comment, but loses its way in here-documents that bash
reads without trouble (several on one line, in a pipeline, in a substitution). So they are taken out before it parses:
this scanner follows only what decides where one starts and ends (quotes, substitutions, arithmetic, comments, `case`
patterns), and `mask` hands the parser the same script with every here-document replaced by a plain redirection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[^\\\s;&|()<>#'\"$`{}]+")
_BLANK = re.compile(r"[ \t\r\f\v]+")
_SPACES = re.compile(r"[ \t]+")
_DELIMITER_END = re.compile(r"[\s;&|()<>]")
_PARENTHESIS = re.compile(r"[()]")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[[^\]\n]*\]\+?=")
_LONGEST_ARITHMETIC = 10_000  # characters; a bound on the time that unbalanced parentheses take
_COMMAND_FOLLOWS = {"if", "then", "else", "elif", "while", "until", "do", "!", "time", "{"}


class Unclosed(Exception):
    """A quote or substitution is never closed. `offset` is where it opens."""

    def __init__(self, offset: int, what: str) -> None:
        self.offset, self.what = offset, what
        super().__init__(what)


@dataclass(frozen=True)
class HereDocument:
    """One here-document.

    Attributes:
        operator: offsets of `<<` and of the end of the delimiter word.
        first_line: index (from 0) of the first line of content; equal to `delimiter_line` if it is empty.
        delimiter_line: index of the closing line, or the number of lines of the script where none closes it.
    """

    operator: tuple[int, int]
    first_line: int
    delimiter_line: int


@dataclass
class _Pending:
    start: int
    end: int
    delimiter: str
    quoted: bool
    strip_tabs: bool


@dataclass(frozen=True)
class Outline:
    """What the scanner saw: the here-documents in the order of their bodies, and the offsets of the `<>` operators."""

    here_documents: tuple[HereDocument, ...]
    read_write: tuple[int, ...]


def outline(script: str) -> Outline:
    """Scan `script`, whose lines end with LF.

    Raises:
        Unclosed: at a quote, `$(`, `${` or backquote that nothing closes.
        RecursionError: substitutions nested beyond reason.
    """
    if "<<" not in script and "<>" not in script:
        return Outline((), ())
    scanner = _Scanner(script)
    scanner.commands(0, None)
    return Outline(tuple(scanner.found), tuple(scanner.read_write))


def mask(script: str, seen: Outline) -> str:
    """`script` with as many lines, as tree-sitter-bash can parse it.

    Each here-document is replaced by a redirection from a file and blank lines, and `<>`, which the grammar does not
    have, by `<`.
    """
    chars = list(script)
    for at in seen.read_write:
        chars[at + 1] = " "
    for document in seen.here_documents:
        start, end = document.operator
        chars[start + 1 : end] = ["\n" if char == "\n" else "x" for char in chars[start + 1 : end]]
    lines = "".join(chars).split("\n")
    for document in seen.here_documents:
        for index in range(document.first_line, min(document.delimiter_line + 1, len(lines))):
            lines[index] = ""
    return "\n".join(lines)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[HereDocument] = []
        self.read_write: list[int] = []

    def commands(self, at: int, closer: str | None, carried: list[_Pending] | None = None) -> int:
        """Scan commands from `at` to just behind `closer` (None: the end of the text); returns that offset.

        `carried` receives here-documents whose operator was inside, but whose line did not end inside.
        """
        text, size = self.text, len(self.text)
        opened = at
        pending: list[_Pending] = []
        cases = 0  # open `case` commands: their patterns end with a parenthesis that closes nothing
        word_start, command_start = True, True
        while at < size:
            char = text[at]
            if char == "\n":
                at = self._bodies(at, pending)
                word_start = command_start = True
            elif match := _BLANK.match(text, at):
                at, word_start = match.end(), True
            elif char == closer and not (closer == ")" and cases):
                if carried is not None:
                    carried.extend(pending)
                return at + 1
            elif char == "#" and word_start:
                at = self._comment_end(at, closer)
            elif text.startswith("<<", at) and not text.startswith("<<<", at):
                at = self._operator(at, pending)
                word_start = True
            elif char in "<>" and text.startswith("(", at + 1):
                at = self.commands(at + 2, ")", pending)
                word_start = command_start = False
            elif char == "(":
                end = self._arithmetic_end(at + 2) if text.startswith("((", at) and command_start else None
                at = end if end is not None else self.commands(at + 1, ")", pending)
                word_start, command_start = True, False
            elif char in ";&|)":
                at, word_start, command_start = at + 1, True, True
            elif text.startswith("<<<", at):
                at, word_start = at + 3, True
            elif text.startswith("<>", at):
                self.read_write.append(at)
                at, word_start = at + 2, True
            elif char in "<>":
                at, word_start = at + 1, True
            elif word_start and (match := _SUBSCRIPT.match(text, at)):
                at, word_start = match.end(), False
            elif match := _PLAIN.match(text, at):
                word = match.group() if word_start else ""
                at = match.end()
                whole = at >= size or bool(_DELIMITER_END.match(text, at))
                if whole and command_start and word == "case":
                    cases += 1
                elif whole and command_start and word == "esac":
                    cases = max(0, cases - 1)
                command_start = whole and ((command_start and word in _COMMAND_FOLLOWS) or (cases > 0 and word == "in"))
                word_start = False
            elif char in "{}":
                at, word_start = at + 1, False
            else:
                # A backslash before the end of the line joins lines: what follows is at the start of a word still.
                joins = text.startswith("\\\n", at)
                at = self._quoted(at, pending)
                if not joins:
                    word_start = command_start = False
        if closer is not None:
            raise Unclosed(opened - 1, f"no {closer} closes the substitution")
        return at

    def _quoted(self, at: int, pending: list[_Pending]) -> int:
        """Behind the quotation or expansion that starts at `at`; behind one character if none does."""
        text = self.text
        char = text[at]
        if char == "\\":
            return at + 2
        if char == "'":
            return self._find(at + 1, "'", at) + 1
        if char == '"':
            return self._double(at, pending)
        if char == "`":
            return self.commands(at + 1, "`", pending)
        if char == "$":
            return self._dollar(at, pending, in_double=False)
        return at + 1

    def _dollar(self, at: int, pending: list[_Pending], *, in_double: bool) -> int:
        text = self.text
        follows = text[at + 1 : at + 2]
        if follows == "(":
            if text.startswith("((", at + 1) and (end := self._arithmetic_end(at + 3)) is not None:
                return end
            return self.commands(at + 2, ")", pending)
        if follows == "{":
            return self._parameter(at, pending, in_double=in_double)
        if follows == "'" and not in_double:
            return self._ansi(at)
        if follows == '"' and not in_double:
            return self._double(at + 1, pending)
        return at + 2 if follows and follows in "#$?!@*-" else at + 1

    def _double(self, opened: int, pending: list[_Pending]) -> int:
        text, at = self.text, opened + 1
        while at < len(text):
            char = text[at]
            if char == '"':
                return at + 1
            if char == "\\":
                at += 2
            elif char == "$":
                at = self._dollar(at, pending, in_double=True) if text[at + 1 : at + 2] in ("(", "{") else at + 1
            elif char == "`":
                at = self.commands(at + 1, "`", pending)
            else:
                at += 1
        raise Unclosed(opened, 'a " is never closed')

    def _ansi(self, dollar: int) -> int:
        text, at = self.text, dollar + 2
        while at < len(text):
            if text[at] == "'":
                return at + 1
            at += 2 if text[at] == "\\" else 1
        raise Unclosed(dollar, "a $' is never closed")

    def _parameter(self, dollar: int, pending: list[_Pending], *, in_double: bool) -> int:
        text, at = self.text, dollar + 2
        while at < len(text):
            char = text[at]
            if char == "}":
                return at + 1
            if char == "$":
                # ${$}, ${x:-$} and the like: a $ that expands nothing is one character.
                expands = text[at + 1 : at + 2] in ("(", "{", "'", '"')
                at = self._dollar(at, pending, in_double=in_double) if expands else at + 1
            elif char == "'" and in_double:
                at += 1
            elif char in "\\'\"`":
                at = self._quoted(at, pending)
            else:
                at += 1
        raise Unclosed(dollar, "a ${ is never closed")

    def _arithmetic_end(self, at: int) -> int | None:
        """Behind the `))` that closes an arithmetic expression opened before `at`; None if it is not one."""
        depth = 0
        for parenthesis in _PARENTHESIS.finditer(self.text, at, at + _LONGEST_ARITHMETIC):
            if parenthesis.group() == "(":
                depth += 1
            elif depth:
                depth -= 1
            else:
                position = parenthesis.start()
                return position + 2 if self.text.startswith("))", position) else None
        return None

    def _comment_end(self, at: int, closer: str | None) -> int:
        end = self._line_end(at)
        if closer == "`" and (tick := self.text.find("`", at, end)) >= 0:
            return tick
        return end

    def _operator(self, start: int, pending: list[_Pending]) -> int:
        text, at = self.text, start + 2
        strip_tabs = text.startswith("-", at)
        at += strip_tabs
        if blank := _SPACES.match(text, at):
            at = blank.end()
        word, quoted = "", False
        first = at
        while at < len(text) and not _DELIMITER_END.match(text, at):
            char = text[at]
            if char in "'\"" or text.startswith(("$'", '$"'), at):
                mark = text[at + 1] if char == "$" else char
                opening = at + 1 + (char == "$")
                end = self._find(opening, mark, at)
                word, quoted, at = word + text[opening:end], True, end + 1
            elif char == "\\":
                word, quoted, at = word + text[at + 1 : at + 2], True, at + 2
            else:
                word, at = word + char, at + 1
        if at > first:
            pending.append(_Pending(start, at, word, quoted, strip_tabs))
        return at

    def _bodies(self, newline: int, pending: list[_Pending]) -> int:
        """Read the pending bodies that start behind `newline`; returns the offset where commands go on."""
        text, at = self.text, newline + 1
        for document in pending:
            first = line = text.count("\n", 0, at)
            joined = False
            while at < len(text):
                end = self._line_end(at)
                content = text[at:end]
                at = min(end + 1, len(text))
                if not joined and (content.lstrip("\t") if document.strip_tabs else content) == document.delimiter:
                    break
                # In a body that is expanded, a backslash joins the next line, which then is no delimiter.
                trailing = len(content) - len(content.rstrip("\\"))
                joined = not document.quoted and trailing % 2 == 1
                line += 1
            else:
                line = text.count("\n") + 1
            self.found.append(HereDocument((document.start, document.end), first, line))
        pending.clear()
        return at

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _find(self, at: int, mark: str, opened: int) -> int:
        end = self.text.find(mark, at)
        if end < 0:
            raise Unclosed(opened, f"a {mark} is never closed")
        return end
