"""BPE tokens with o200k_base, offline: the ranks come with the package (paper, App. D, "Other measures of work")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_PIECE = 25_000  # characters: below 200,000 tokens whatever they are, even at twice the length
_LINE_START = re.compile(r"(?<=\n)(?=[ \t]+\S|[^\s/])")


@lru_cache(maxsize=1)
def _encoding() -> Any:
    # Lazy: reading the ranks costs 0.1 s and some 30 MB, only where tokens are counted.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def token_ids(text: str) -> list[int]:
    """Ids of the tokens of `text`, the same as tiktoken's; text that looks like a special token is plain text."""
    encoding = _encoding()
    return [token for piece in _pieces(text) for token in encoding.encode_ordinary(piece)]


def count_tokens(text: str) -> int:
    """Number of o200k_base tokens of `text`."""
    return len(token_ids(text))


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces that the package accepts (200,000 tokens at most), cut where a token always ends.

    A token of o200k_base goes over a line end only into blank lines or a slash. Text without a place to cut is cut
    anywhere, and may then count a token more at a cut.
    """
    at = 0
    while len(text) - at > _PIECE:
        cut = _LINE_START.search(text, at + _PIECE, at + 2 * _PIECE)
        end = cut.start() if cut else at + _PIECE
        yield text[at:end]
        at = end
    yield text[at:]
