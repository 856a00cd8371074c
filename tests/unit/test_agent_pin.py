"""The private parts of Harbor that the harness relies on: there, and of the shape it assumes.

This fails before anything else does when Harbor is another version. Then read `harness/agent.py` beside the new source.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from termdepth.harness import agent

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_version_is_pinned_everywhere() -> None:
    assert version("harbor") == agent.HARBOR_VERSION
    assert f'"harbor=={agent.HARBOR_VERSION}"' in PYPROJECT.read_text()


def test_prompt_is_the_one_the_paper_used() -> None:
    text = agent.prompt_template()
    assert "{instruction}" in text and "{terminal_state}" in text and '"task_complete": true' in text
    assert "Never wait longer than 60 seconds" in text
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == "89a3dc3a1575"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_init_llm", None),
        ("_handle_llm_interaction", ["chat", "prompt", "original_instruction", "session"]),
        ("_query_llm", ["chat", "prompt", "original_instruction", "session"]),
        ("_execute_commands", ["commands", "session"]),
        ("_run_agent_loop", ["initial_prompt", "chat", "original_instruction"]),
        ("_limit_output_length", ["output", "max_bytes"]),
        ("_summarize", ["chat", "original_instruction", "session"]),
        ("_check_proactive_summarization", ["chat", "original_instruction", "session"]),
        ("_count_total_tokens", ["chat"]),
        ("_track_api_request_time", ["start_time"]),
        ("_reset_per_run_state", []),
        ("_dump_trajectory", []),
    ],
)
def test_methods_of_terminus(name: str, parameters: list[str] | None) -> None:
    method = getattr(agent.Terminus2, name)
    assert parameters is None or list(inspect.signature(method).parameters)[1:] == parameters


def test_wrapped_retries() -> None:
    """Three tries in Harbor's `_query_llm` around three in `LiteLLM.call` are taken off to set our own."""
    assert inspect.iscoroutinefunction(agent.Terminus2._query_llm.__wrapped__)
    assert inspect.iscoroutinefunction(agent.LiteLLM.call.__wrapped__)
    assert "_extract_usage_info(response)" in inspect.getsource(agent.LiteLLM.call.__wrapped__)


def test_loop_works_as_assumed() -> None:
    loop = inspect.getsource(agent.Terminus2._run_agent_loop)
    assert "for episode in range(self._max_episodes)" in loop
    assert "if not await self._session.is_session_alive():" in loop
    assert 'if feedback and "ERROR:" in feedback:' in loop  # such a reply's commands are not carried out
    assert "was_pending_completion = self._pending_completion" in loop
    assert loop.count("self._pending_completion = ") == 2
    query = inspect.getsource(agent.Terminus2._query_llm.__wrapped__)
    assert f'content="{agent._FALLBACK_FAILED} Please continue' in query
    assert "except BaseException" not in query + loop  # `_Stop` must get through
    assert "self._chat = Chat(" in inspect.getsource(agent.Terminus2.run)
    assert "self._session = TmuxSession(" in inspect.getsource(agent.Terminus2.setup)
    assert agent._terminus.TmuxSession is agent._Session


def test_session_starts_with_its_history() -> None:
    session = agent._Session("name", environment=None, logging_path=Path("/log"),
                             local_asciinema_recording_path=None, remote_asciinema_recording_path=None)  # fmt: skip
    start = session._tmux_start_session
    assert re.search(r"tmux start-server \\; set-option -g history-limit 50000 \\; new-session .*-d -s name", start)
    assert start.count("tmux ") == 1
    assert "failed to send" in inspect.getsource(agent.TmuxSession._send_keys_error)


def test_gate_between_segments() -> None:
    from harbor.trial.multi_step import MultiStepTrial

    assert list(inspect.signature(MultiStepTrial._min_reward_failure).parameters) == ["rewards", "min_reward"]
    assert "self._min_reward_failure(rewards, step.min_reward)" in inspect.getsource(
        MultiStepTrial._should_stop_after_step
    )


def test_nothing_private_beyond_the_two_modules() -> None:
    """`agent.py`, and the one gate in `runner.py`, are all that reads Harbor's private parts."""
    package = Path(agent.__file__).parents[1]
    users = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\b(?:trial|terminus|chat|llm)\._[a-z]", path.read_text())
    ]
    assert set(users) <= {"harness/agent.py", "harness/runner.py"}
