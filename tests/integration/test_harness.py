"""The harness on real runs: embedded sandbox, real tmux, and a model behind a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness_lab import DONE, HarnessLab, Part, part
from openai_server import KEY, Answer, OpenAIServer, failure, turn
from termdepth.errors import UserError
from termdepth.harness import texts

pytestmark = pytest.mark.sandbox
OVERFLOW = failure(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded", "bad_request")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HarnessLab]:
    from termdepth.harness import agent

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(agent, "RETRY_WAITS", (0.1, 0.1, 0.1))  # the waits are all that is not real
    yield HarnessLab(tmp_path)
    for path in tmp_path.rglob("*"):  # in every test: what a provider echoes stays out of all that is written
        assert not path.is_file() or path.is_symlink() or KEY.encode() not in path.read_bytes(), path


def ends(record: Any, outcome: str, *, turns: int | None = None, valid: bool | None = None) -> dict[str, Any]:
    row: dict[str, Any] = record.row
    assert row["outcome"] == outcome, (row["outcome"], row["error"])
    assert turns is None or row["turns"] == turns
    assert valid is None or row["valid"] is valid
    return row


# ---- turns, confirmation, segments


def test_one_segment(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [turn("touch done\ntouch b", "true"), turn(done=True)])
    row = ends(record, "passed", turns=3, valid=True)  # the confirmation is a turn of its own
    assert "Are you sure you want to mark the task as complete?" in server.prompts()[2]
    assert row["turns_per_segment"] == [3] and row["n_segments"] == row["segments_passed"] == 1
    assert row["command_lines"] == 3 and row["parse_errors"] == 0 and row["compressions"] == 0
    assert [t["commands"] for t in record.turns] == [2, 0, 0]
    assert [t["complete"] for t in record.turns] == [False, True, True]
    assert all(t["finish_reason"] == "stop" and t["input_tokens"] > 0 for t in record.turns)
    assert record.turns[0]["wait_seconds"] == pytest.approx(0.2)
    assert record.turns[0]["terminal_seconds"] >= 0.2
    assert row["input_tokens"] == sum(t["input_tokens"] for t in record.turns)
    assert row["context_tokens"] == record.turns[-1]["input_tokens"] + record.turns[-1]["output_tokens"]
    assert row["cost_usd"] is None  # a made-up model has no known price
    assert json.loads((Path(row["path"]) / "run.json").read_text())["row"]["fingerprint"] == row["fingerprint"]


def test_prices_of_the_config_are_charged(lab: HarnessLab, capfd: pytest.CaptureFixture[str]) -> None:
    prices = {"input": 2.0, "output": 10.0}
    record, _ = lab.run(
        lab.task(), [turn("touch done", done=True)], model={"litellm": "openai/priced", "prices": prices}
    )
    row = ends(record, "passed")
    assert row["cost_usd"] == pytest.approx((2 * row["input_tokens"] + 10 * row["output_tokens"]) / 1e6)
    assert "register_model" not in capfd.readouterr().err  # LiteLLM's warning of prices that were not said


def test_parts_in_one_conversation_and_terminal(lab: HarnessLab) -> None:
    look = "grep -rls SECRET- / --exclude-dir={proc,sys,usr}; find /tests /logs/verifier -type f"
    replies = [turn(look, "touch 1", "X=kept", done=True), turn("echo $X; " + look, "touch 2", done=True)]
    replies += [turn("touch 3", done=True), turn(look), turn(done=True)]
    record, server = lab.run(lab.task(part(1), part(2), part(3)), replies)
    row = ends(record, "passed", turns=6)
    assert row["turns_per_segment"] == [1, 1, 4]  # confirmed in the last part only, and asked again after more work
    first, second, third, confirm, screen, again = server.prompts()
    assert "This task has 3 parts." in first and "Part 1 of 3:\n\nMake the file /app/1." in first
    assert second.startswith("Part 1 is marked complete. Here is part 2 of 3:\n\nMake the file /app/2.")
    assert "Current terminal screen:\n" in second and "touch 1" in second.partition("Current terminal screen:")[2]
    assert third.startswith("Part 2 is marked complete. Here is part 3 of 3:")
    assert "Turns used" not in second + third and "at most" not in first
    assert "kept" in third.partition("Current terminal screen:")[2]  # the same shell
    assert "Are you sure" in confirm and "Are you sure" in again
    messages = server.requests[-1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"] * 5 + ["user"]
    # Neither a later instruction nor any test was in the container for the agent to find.
    seen = second + third + screen
    assert "SECRET-TEST" not in seen and ".sh" not in seen.replace("done.sh", "")
    for line in seen.splitlines():
        assert not line.startswith("/") or "terminus_2.pane" in line, line


def test_stated_cap_is_sent_and_kept(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [turn("true")], cap=2)
    ends(record, "turn_cap", turns=2, valid=True)
    assert len(server.requests) == 2
    assert texts.single_instruction("Make the file /app/done.", 2) in server.prompts()[0]
    record, server = lab.run(lab.task(), [turn("touch done")], cap=1)
    ends(record, "passed", turns=1)  # the state after the last turn is what counts
    assert "You have at most 1 turn for this task." in server.prompts()[0]


def test_stated_cap_over_parts(lab: HarnessLab) -> None:
    replies = [turn("touch 1"), turn(done=True), Answer("no JSON"), turn("true")]
    record, server = lab.run(lab.task(part(1), part(2)), replies, cap=4)
    row = ends(record, "turn_cap", turns=4)
    assert row["turns_per_segment"] == [2, 2] and row["segments_passed"] == 1 and row["parse_errors"] == 1
    first, _, third, fourth = server.prompts()
    assert "You have at most 4 turns for the whole task, all 2 parts together." in first
    assert "\n\nTurns used so far: 2 of 4.\n\n" in third
    assert fourth.startswith("Previous response had parsing errors")
    record, server = lab.run(lab.task(part(1), part(2)), [turn("touch 1", "touch 2", done=True)], cap=1)
    row = ends(record, "passed", turns=1)  # no turn is left for part 2, and its checks pass on the state as it is
    assert row["turns_per_segment"] == [1, 0]


def test_run_stops_at_the_first_part_that_fails(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(part(1), part(2), part(3)), [turn("touch 1", done=True), turn(done=True)])
    row = ends(record, "failed_checks", turns=2, valid=True)
    assert row["segments_passed"] == 1 and len(server.requests) == 2
    assert not any("part 3 of 3" in p for p in server.prompts())


def test_steps_with_one_step(lab: HarnessLab) -> None:
    record, _ = lab.run(lab.task(Part(), steps=True), [turn("touch done", done=True)])
    row = ends(record, "passed", turns=2)
    assert row["turns_per_segment"] == [2] and len(record.turns) == 2 and row["input_tokens"] > 0


def test_rewards_by_other_names_decide_alike_everywhere(lab: HarnessLab) -> None:
    def rewards(**values: float) -> Part:
        return Part(test=f"echo '{json.dumps(values)}' > /logs/verifier/reward.json\n")

    record, _ = lab.run(lab.task(rewards(a=1, b=1), rewards(reward=1, speed=0.2)), [turn(done=True)])
    assert ends(record, "passed")["segments_passed"] == 2
    record, _ = lab.run(lab.task(rewards(a=1, b=0.5), rewards(a=1)), [turn(done=True)])
    assert ends(record, "failed_checks")["segments_passed"] == 0


def test_time_limit_is_over_all_parts(lab: HarnessLab) -> None:
    started = time.monotonic()
    replies = [turn("touch 1", duration=1.0, done=True), turn("true", duration=1.0)]
    record, _ = lab.run(lab.task(part(1), part(2)), replies, time_limit=2.5, turn_limit=50)
    row = ends(record, "time_limit", valid=True)
    assert row["segments_passed"] == 1 and 1.5 / 60 < row["minutes"] < 4 / 60
    assert time.monotonic() - started < 20
    record, _ = lab.run(lab.task(), [turn("touch done"), Answer(hang=30)], time_limit=2.0)
    ends(record, "passed", turns=1)  # the model hangs at the limit; the state is verified as it is


# ---- what is shown


def test_long_output_is_shown_by_its_ends(lab: HarnessLab) -> None:
    record, server = lab.run(
        lab.task(), [turn("seq 1 3000", duration=0.7), turn("echo short"), turn("seq 60000", duration=1.5), turn()],
        turn_limit=4,
    )  # fmt: skip
    ends(record, "turn_limit")
    shown = server.prompts()[1]
    head, note, tail = shown.partition("\n[... output limited to 10000 bytes; ")
    assert note and len(head.encode()) == 5000 and "\n1\n2\n3\n" in head
    omitted, _, tail = tail.partition(" interior bytes omitted ...]\n")
    assert len(tail.encode()) == 5000 and "\n2999\n3000\n" in tail
    assert int(omitted) > 3000 and shown.count("output limited") == 1  # the note says what is really missing
    assert "short" in server.prompts()[2] and "3000" not in server.prompts()[2].partition("echo short")[2]
    # More lines than the terminal's history: still the last ones, and never nothing.
    assert "\n59999\n60000\n" in server.prompts()[3] and len(server.prompts()[3].encode()) < 10_200


def test_fifty_megabytes_of_output(lab: HarnessLab) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    noise = "yes 0123456789012345678901234567890123456789 | head -c 50000000; echo; echo the-end"

    def script(messages: list[dict[str, Any]], number: int) -> Answer:
        if number == 1:
            return turn(noise, duration=5.0)
        seen = any("\nthe-end\n" in m["content"] for m in messages)
        return turn("touch done", done=True) if seen else turn("", duration=1.0)

    record, server = lab.run(lab.task(), script, turn_limit=30)
    ends(record, "passed")
    assert all(len(p.encode()) < 10_200 for p in server.prompts()[1:])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert grown < 250, f"{grown} MB"  # all of it, as text and encoded, would be well beyond 400


def test_output_that_is_not_utf8(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [turn(r"printf 'caf\xe9 \xff\xfe ok\n'; touch done"), turn(done=True)])
    ends(record, "passed")
    assert "ok" in server.prompts()[1]
    assert json.loads((Path(record.row["path"]) / "agent" / "trajectory.json").read_text())["steps"]


def test_first_screen_does_not_depend_on_load(lab: HarnessLab) -> None:
    path = lab.task()

    async def eight(url: str) -> list[Any]:
        return await asyncio.gather(*(lab.run_async(lab.spec(path, url, attempt=n)) for n in range(1, 9)))

    with OpenAIServer([turn("touch done", done=True)]) as server:
        server.script = lambda messages, _: turn(*(["touch done"] if len(messages) == 1 else []), done=True)
        records = asyncio.run(eight(server.url))
    assert [r.row["outcome"] for r in records] == ["passed"] * 8
    firsts = {str(r["messages"][0]["content"]) for r in server.requests if len(r["messages"]) == 1}
    assert len(firsts) == 1 and next(iter(firsts)).rstrip().endswith("root@sandbox:/app#")


# ---- replies that are no good


def test_cut_off_reply_is_one_turn_and_not_acted_on(lab: HarnessLab) -> None:
    cut = Answer(str(turn("touch done").content), finish="length")
    record, server = lab.run(lab.task(), [cut], turn_limit=4)
    row = ends(record, "turn_limit", turns=4, valid=True)
    assert len(server.requests) == 4 and row["parse_errors"] == 4 and row["command_lines"] == 1 * 4
    assert texts.CUT_OFF in server.prompts()[1]
    assert {t["finish_reason"] for t in record.turns} == {"length"}


@pytest.mark.parametrize(
    "content", ["hello", "[]", "{", '{"analysis": 1}', '{"analysis": "", "plan": "", "commands": {"a": "b"}}']
)
def test_reply_that_is_no_json(lab: HarnessLab, content: str) -> None:
    record, server = lab.run(lab.task(), [Answer(content)], turn_limit=3)
    assert ends(record, "turn_limit", turns=3, valid=True)["parse_errors"] == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize("content", ["", None, "  \n"])
def test_empty_replies(lab: HarnessLab, content: str | None) -> None:
    record, server = lab.run(lab.task(), [Answer(content)])
    ends(record, "empty_response", turns=3, valid=False)
    assert len(server.requests) == 3
    record, server = lab.run(lab.task(), [Answer(content), Answer(content), turn("touch done", done=True)])
    ends(record, "passed", turns=4)


def test_refusal(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [Answer(None, finish="content_filter")])
    ends(record, "refused", turns=1, valid=False)
    assert len(server.requests) == 1


def test_half_a_surrogate_pair_is_an_odd_reply_and_no_more(lab: HarnessLab) -> None:
    escaped = Answer(
        '{"analysis": "\\ud800", "plan": "", "commands": [{"keystrokes": "echo \\udfff\\n", "duration": 0.1}]}'
    )
    raw = Answer(str(turn("touch \ud800done").content).replace("\\ud800", "\ud800"))
    record, _ = lab.run(lab.task(), [escaped, raw, turn("touch done"), turn(done=True)])
    ends(record, "passed", turns=5)


def test_waits_are_bounded(lab: HarnessLab) -> None:
    odd = '{"analysis": "", "plan": "", "commands": [{"keystrokes": "touch done\\n", "duration": %s}]}'
    from termdepth.config.models import Harness

    started = time.monotonic()
    record, _ = lab.run(
        lab.task(), [*(Answer(odd % d) for d in ("NaN", "-5", "1e999", "900")), turn(done=True)],
        limits=Harness(max_wait_sec=0.5),
    )  # fmt: skip
    ends(record, "passed", turns=6)
    assert [t["wait_seconds"] for t in record.turns[:4]] == [0.0, 0.0, 0.5, 0.5] and time.monotonic() - started < 10


# ---- the session and the container


def test_exit_in_the_middle_of_a_batch(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [turn("touch a", "exit", "touch b", "touch c"), turn(done=True)])
    row = ends(record, "session_broken", turns=1, valid=True)
    assert row["command_lines"] == 4 and len(record.turns) == 1 and len(server.requests) == 1
    record, _ = lab.run(lab.task(), [turn("touch done", "exit", "true")])
    ends(record, "passed", turns=1)
    record, _ = lab.run(lab.task(part(1), part(2)), [turn("touch 1", "exit", done=True), turn("touch 2", done=True)])
    assert ends(record, "session_broken", turns=1)["segments_passed"] == 1


@pytest.mark.parametrize(
    ("harm", "outcome"),
    [
        ("mkdir -p /logs/verifier/reward.txt/x /logs/verifier/reward.json/x", "failed_checks"),
        ("rm -rf /logs", "failed_checks"),
        ("rm -rf /tests; touch /tests", "failed_checks"),
        ("rm -rf /tests; ln -s /proc /tests", "failed_checks"),
        ("echo 1 > /logs/verifier/reward.txt", "failed_checks"),
        ("cat /dev/zero > /big; sleep 1", "session_broken"),
        ("rm -rf /bin /usr /lib* /etc /var", "session_broken"),
        ("kill -9 -1", "session_broken"),
        ("tmux kill-server", "session_broken"),
    ],
)
def test_agent_cannot_turn_a_failed_run_into_one_without_a_verdict(lab: HarnessLab, harm: str, outcome: str) -> None:
    record, _ = lab.run(lab.task(), [turn(harm, duration=2.0 if "zero" in harm else 0.4), turn(done=True)])
    ends(record, outcome, valid=True)


@pytest.mark.parametrize("parts", [(Part(),), (part(1), part(2))])
def test_agent_that_removes_its_working_folder_fails(lab: HarnessLab, parts: tuple[Part, ...]) -> None:
    record, _ = lab.run(lab.task(*parts), [turn("rm -rf /app", done=True), turn(done=True)])
    assert record.row["outcome"] in ("failed_checks", "session_broken") and record.row["valid"]


def test_frozen_agent_cannot_forge_a_reward(lab: HarnessLab) -> None:
    forge = "while :; do echo 1 > /logs/verifier/reward.txt; cat /tests/test.sh >> /stolen; done 2>/dev/null"
    replies = [turn(f"setsid bash -c '{forge}' &"), turn(done=True), turn("cat /stolen", done=True), turn(done=True)]
    slow = Part(test=f"sleep 0.3\n{DONE}")
    for attempt in range(2):
        record, _ = lab.run(lab.task(slow), replies, freeze=True, attempt=attempt + 1)
        ends(record, "failed_checks")


def test_frozen_processes_go_on_in_the_next_part(lab: HarnessLab) -> None:
    server = turn("(while :; do touch tick; sleep 0.05; done) & touch 1", done=True)
    replies = [server, turn("rm tick; sleep 0.5; ls tick && touch 2", duration=1.0, done=True), turn(done=True)]
    record, _ = lab.run(lab.task(part(1), part(2)), replies, freeze=True)
    ends(record, "passed", turns=3)


# ---- the provider


def test_error_that_passes_is_tried_again(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [failure(500), failure(429), turn("touch done", done=True)])
    ends(record, "passed", turns=2)
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [500, 503, 429])
def test_error_that_stays_is_given_up(lab: HarnessLab, status: int) -> None:
    record, server = lab.run(lab.task(), [turn("true"), failure(status, f"no luck with {KEY}")])
    row = ends(record, "infrastructure_error", turns=1, valid=False)
    assert len(server.requests) == 5 and "no luck with ***" in row["error"]


def test_bad_request_is_not_repeated(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [failure(400, "no such parameter", kind="invalid_request_error")])
    ends(record, "infrastructure_error", turns=0, valid=False)
    assert len(server.requests) == 1


def test_model_that_hangs(lab: HarnessLab) -> None:
    started = time.monotonic()
    record, server = lab.run(lab.task(), [Answer(hang=60)], model={"request_timeout_sec": 1.0})
    row = ends(record, "infrastructure_error", turns=0, valid=False)
    assert "timed out" in row["error"].lower() and len(server.requests) == 2 and time.monotonic() - started < 30


@pytest.mark.parametrize(
    "answer",
    [
        failure(401, f"Incorrect API key provided: {KEY}", "invalid_api_key", "invalid_request_error"),
        failure(404, "The model `test` does not exist", "model_not_found", "invalid_request_error"),
    ],
)
def test_model_that_cannot_be_called(lab: HarnessLab, answer: Answer) -> None:
    with OpenAIServer([answer]) as server, pytest.raises(UserError) as caught:
        asyncio.run(lab.run_async(lab.spec(lab.task(), server.url)))
    assert str(caught.value).startswith("models (test).litellm = openai/test: the model cannot be called: ")
    assert "\n" not in str(caught.value) and KEY not in str(caught.value) and len(server.requests) == 1
    assert not list(lab.runs.rglob("run.json")) and not list(lab.runs.rglob("partial-*"))


@pytest.mark.parametrize(
    "model",
    [{"litellm": "openai/x", "api_base": None}, {"litellm": "nonsense/x", "api_base": None}, {"litellm": "nonsense"}],
)
def test_model_without_key_or_provider(lab: HarnessLab, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="the model cannot be called"):
        asyncio.run(lab.run_async(lab.spec(lab.task(), "http://127.0.0.1:9/v1", model=model)))


def test_context_overflow_that_does_not_shrink(lab: HarnessLab) -> None:
    record, server = lab.run(lab.task(), [turn("true"), OVERFLOW], turn_limit=100)
    ends(record, "context_overflow", turns=1, valid=True)  # what never got a reply is no turn
    assert len(server.requests) <= 6


def test_context_overflow_that_compression_mends(lab: HarnessLab) -> None:
    def script(messages: list[dict[str, Any]], number: int) -> Answer:
        last = str(messages[-1]["content"])
        if number == 2:
            return OVERFLOW
        if "hand off your work" in last or "picking up work" in last or "has a few questions" in last:
            return Answer("prose")
        return turn("touch 2", done=True) if "touch 1" in str(messages) or number > 2 else turn("touch 1", done=True)

    record, server = lab.run(lab.task(part(1), part(2)), script, cap=9)
    row = ends(record, "passed", turns=3)
    assert row["compressions"] == 1
    asked = next(p for p in server.prompts() if "picking up work" in p)
    assert "at most 9 turns for the whole task" in asked  # the cap stays stated, and the parts stay told apart
    assert asked.index("Part 1 of 2:") < asked.index("Part 2 of 2:")


def test_small_context_is_compressed_a_bounded_number_of_times(lab: HarnessLab) -> None:
    from termdepth.config.models import Harness

    model = {"litellm": "openai/small", "context_tokens": 4096}
    record, server = lab.run(
        lab.task(), [turn("true")], model=model, limits=Harness(max_compressions=2), turn_limit=100
    )
    row = ends(record, "context_overflow", turns=3, valid=True)
    assert "compressed 2 times" in row["error"] and len(server.requests) == 3 + 2 * 3
    assert "Format your response as JSON" in server.prompts()[0]  # the first turn's prompt is not compressed away


# ---- verifiers


@pytest.mark.parametrize(
    ("test", "error"),
    [
        (": > /logs/verifier/reward.txt", "empty reward file"),
        ("echo nan > /logs/verifier/reward.txt", "not a finite number"),
        ("echo yes > /logs/verifier/reward.txt", "not a finite number"),
        (r"printf '\xff' > /logs/verifier/reward.txt", "not a finite number"),
        ("echo '{}' > /logs/verifier/reward.json", "no rewards"),
        ("""echo '{"reward": null}' > /logs/verifier/reward.json""", "not a finite number"),
        ("""echo '{"reward": Infinity}' > /logs/verifier/reward.json""", "not a finite number"),
        ("echo 1 > /logs/verifier/reward.json", "not a mapping"),
        ("mkdir /logs/verifier/reward.txt", "a folder in the place"),
        ("true", "no reward file"),
        ("exit 3", "no reward file"),
        ("echo 1 > /logs/verifier/reward.txt\r", "no reward file"),
        ("sleep 60", "longer than its time limit"),
    ],
)
def test_verifier_without_a_verdict(lab: HarnessLab, test: str, error: str) -> None:
    path = lab.task(Part(test=test + "\n"), toml="[verifier]\ntimeout_sec = 2.0\n")
    record, _ = lab.run(path, [turn(done=True)])
    row = ends(record, "verifier_error", turns=2, valid=False)
    assert error in row["error"] and row["segments_passed"] == 0


def test_verifier_output_that_is_huge_and_not_utf8(lab: HarnessLab) -> None:
    noise = "head -c 20000000 /dev/urandom; head -c 20000000 /dev/urandom >&2\n"
    record, _ = lab.run(lab.task(Part(test=noise + DONE)), [turn("touch done", done=True)])
    ends(record, "passed")


# ---- what is kept


def test_finished_run_is_not_made_again(lab: HarnessLab) -> None:
    path = lab.task()
    with OpenAIServer([turn("touch done", done=True)]) as server:
        spec = lab.spec(path, server.url)
        first = asyncio.run(lab.run_async(spec))
        sent = len(server.requests)
        again = asyncio.run(lab.run_async(spec))
        assert len(server.requests) == sent == 2
        assert again.row == first.row and again.turns == first.turns
        asyncio.run(lab.run_async(lab.spec(path, server.url, attempt=2)))
        assert len(server.requests) == 4
    run_json = Path(first.row["path"]) / "run.json"
    run_json.write_text(run_json.read_text()[:100])  # as a full disk would leave it
    with OpenAIServer([turn("touch done", done=True)]) as server:
        asyncio.run(lab.run_async(lab.spec(path, spec.model.api_base)))  # the same identity, but nobody answers there
    assert json.loads(run_json.read_text())["row"]["outcome"] == "infrastructure_error"
    assert not list(lab.runs.rglob("partial-*"))


def test_infrastructure_error_is_made_again(lab: HarnessLab) -> None:
    with OpenAIServer([failure(400, "bad")]) as server:
        spec = lab.spec(lab.task(), server.url)
        ends(asyncio.run(lab.run_async(spec)), "infrastructure_error")
        server.script = lambda *_: turn("touch done", done=True)
        ends(asyncio.run(lab.run_async(spec)), "passed")


_KILLED = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from harness_lab import HarnessLab
lab = HarnessLab(Path({folder!r}))
asyncio.run(lab.run_async(lab.spec(Path({task!r}), {url!r})))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_run_leaves_nothing_that_is_taken_for_finished(lab: HarnessLab, how: signal.Signals) -> None:
    path = lab.task()
    with OpenAIServer(lambda _, n: turn("touch done") if n == 1 else Answer(hang=60)) as server:
        code = _KILLED.format(
            tests=str(Path(__file__).parents[1]), folder=str(lab.folder), task=str(path), url=server.url
        )
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + 60
            while len(server.requests) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            os.kill(process.pid, how)
            process.wait(30)
        assert len(server.requests) == 2 and not list(lab.runs.rglob("run.json"))
        left = list(lab.runs.rglob("partial-*"))
        assert len(left) == (1 if how is signal.SIGKILL else 0)
        server.script = lambda *_: turn("touch done", done=True)
        ends(asyncio.run(lab.run_async(lab.spec(path, server.url))), "passed", turns=2)
        if left:
            from termdepth.cli import main

            assert main(["clean", "--results", str(lab.folder), "--json"]) == 0
    assert not list(lab.runs.rglob("partial-*")) and len(list(lab.runs.rglob("run.json"))) == 1
