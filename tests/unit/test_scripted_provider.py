"""The scripted models through LiteLLM, as the harness calls them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from termdepth.errors import UserError
from termdepth.models import provider
from termdepth.models.scripted import parse_habit, reply

RECORDED = json.loads((Path(__file__).parent / "fixtures/scripted-conversations.json").read_text())
MESSAGES = RECORDED["parallel-flaky"][:3]


@pytest.fixture(scope="module")
def litellm() -> Iterator[Any]:
    provider.register()
    import litellm

    before = litellm.drop_params
    yield litellm
    litellm.drop_params = before


def test_the_seed_reaches_the_model(litellm: Any) -> None:
    habit = parse_habit("flaky-50")
    expected = [reply(MESSAGES, habit, seed).text for seed in range(6)]
    assert len(set(expected)) > 1
    # As Harbor calls it: drop_params, other parameters, a session id.
    options = {"drop_params": True, "temperature": 0.7, "extra_body": {"session_id": "x"}}
    answers = [litellm.completion("scripted/flaky-50", messages=MESSAGES, seed=seed, **options) for seed in range(6)]
    assert [answer.choices[0].message.content for answer in answers] == expected


def test_usage_and_finish_reason_arrive(litellm: Any) -> None:
    answer = asyncio.run(litellm.acompletion("scripted/merge", messages=MESSAGES))
    expected = reply(MESSAGES, parse_habit("merge"))
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content == expected.text
    assert answer.usage.prompt_tokens == expected.prompt_tokens
    assert answer.usage.completion_tokens == expected.completion_tokens
    assert answer.usage.prompt_tokens_details.cached_tokens == expected.cached_tokens > 0


def test_registering_again_keeps_what_is_there(litellm: Any) -> None:
    before = litellm.custom_provider_map
    provider.register()
    assert litellm.custom_provider_map == before


def test_broken_plans_are_told_before_a_model_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.yaml").write_text("name: p\n")
    monkeypatch.setenv("TERMDEPTH_PLANS", str(tmp_path))
    with pytest.raises(UserError, match=r"p\.yaml"):
        provider.register()
