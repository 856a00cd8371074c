"""The grammar of shell scripts, for what reads reference solutions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@lru_cache(maxsize=1)
def parser() -> Parser:
    """The parser; imported at its first use, because it takes time that most commands do not need."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def first_error(root: Node) -> int:
    """The line (from 1) of the first error under `root`."""
    node = root
    while not (node.is_error or node.is_missing):
        child = next((child for child in node.children if child.has_error or child.is_missing), None)
        if child is None:
            break
        node = child
    return node.start_point[0] + 1
