"""BPE tokens with o200k_base, offline: the ranks come with the package (paper, App. D, "Other measures of work")."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _encoding() -> Any:
    # Lazy: reading the ranks costs 0.1 s and some 30 MB, only where tokens are counted.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def token_ids(text: str) -> list[int]:
    """Ids of the tokens of `text`, the same as tiktoken's; text that looks like a special token is plain text."""
    return list(_encoding().encode_ordinary(text))


def count_tokens(text: str) -> int:
    """Number of o200k_base tokens of `text`."""
    return len(token_ids(text))
