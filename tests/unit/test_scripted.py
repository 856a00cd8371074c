"""Scripted models: recorded terminus-2 conversations, and properties on random plans in a simulated terminal."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termdepth.errors import UserError
from termdepth.harness import texts
from termdepth.models.conversation import PANE_WIDTH, read_conversation, read_screen, squash, unwrap
from termdepth.models.plan import Plan, load_plans, plan_depth
from termdepth.models.scripted import SENDS_PER_NODE, Habit, parse_habit, reply, spoil

HARBOR = Path(importlib.util.find_spec("harbor").origin).parent  # type: ignore[union-attr,arg-type]
TEMPLATE = (HARBOR / "agents/terminus_2/templates/terminus-json-plain.txt").read_text()
RECORDED = json.loads((Path(__file__).parent / "fixtures/scripted-conversations.json").read_text())
MERGE, STEP, BLIND = Habit("merge"), Habit("step"), Habit("blind")

Messages = list[dict[str, Any]]


def first_message(instruction: str) -> Messages:
    screen = "Current Terminal Screen:\nroot@box:/app# \n\n"
    return [{"role": "user", "content": TEMPLATE.format(instruction=instruction, terminal_state=screen)}]


def act(messages: Messages, habit: Habit, plan: Plan | None = None, seed: int = 0) -> dict[str, Any]:
    """The parsed reply, which is added to the messages."""
    text = reply(messages, habit, seed, [plan] if plan else None).text
    messages.append({"role": "assistant", "content": text})
    data: dict[str, Any] = json.loads(text)
    return data


# -- recorded conversations ---------------------------------------------------------------------------------------------


def test_recorded_control_under_its_cap() -> None:
    """One step a turn, the end packed, from real terminal output with wrapped echoes."""
    messages = RECORDED["control-06-capped"]
    sent = []
    for turn in range(7):
        data = json.loads(reply(messages[: 2 * turn + 1], MERGE).text)
        sent.append((re.findall(r"Nodes: (.*)", data["plan"]), data["task_complete"]))
    expected = ["read-1", *(f"solve-{i}" for i in range(1, 7))]
    assert sent == [([name], name == "solve-6") for name in expected]
    state = read_conversation(messages[:-1])
    assert (state.cap, state.turns, state.part) == (7, 6, None)
    assert state.opening.startswith("# A chain of 6 steps") and "Terminal Screen" not in state.opening


def test_recorded_control_without_a_cap_looks_once_more_and_confirms() -> None:
    messages = RECORDED["control-06-uncapped"]
    last = [json.loads(reply(messages[: 2 * turn + 1], MERGE).text) for turn in (6, 7, 8)]
    assert [bool(data["commands"]) for data in last] == [True, False, False]
    assert [data["task_complete"] for data in last] == [False, True, True]


def test_recorded_wrong_commands_are_sent_again_and_right_ones_are_not() -> None:
    messages = RECORDED["parallel-flaky"]
    resent = []
    for turn in range(2, len(messages), 2):
        short = re.findall(r"^[01] answers/(\d\d)\.txt$", messages[turn]["content"], re.MULTILINE)  # bytes, name
        if "solve-" in messages[turn - 1]["content"]:
            resent.append({f"solve-{int(number)}" for number in short})
            plan = json.loads(messages[turn + 1]["content"])["plan"]
            assert set(re.findall(r"solve-\d+", plan)) == resent[-1]
    assert resent[0] and not resent[-1]


def test_same_messages_same_reply() -> None:
    messages = RECORDED["parallel-flaky"][:3]
    habit = parse_habit("flaky-30")
    assert reply(messages, habit, 3) == reply(messages, habit, 3)
    replies = {reply(messages, habit, seed).text for seed in range(20)}
    assert len(replies) > 1


# -- a simulated terminal -----------------------------------------------------------------------------------------------


@dataclass
class Terminal:
    """Runs the commands of random plans: `run ID ARG...` prints the values of ID if the arguments are right."""

    plan: Plan
    truth: dict[str, str]
    noise: Random
    done: list[str] = field(default_factory=list)

    def run(self, commands: list[dict[str, Any]]) -> str:
        lines = [""]
        for command in commands:
            typed = command["keystrokes"].rstrip("\n")
            echo = f"root@box:/app# {typed}"
            lines += [echo[i : i + PANE_WIDTH] for i in range(0, len(echo), PANE_WIDTH)]
            program, name, *arguments = typed.split()
            node = next(n for n in self.plan.nodes if n.id == name)
            if program != "run":
                lines.append(f"bash: {program}: command not found")
            elif arguments != [self.truth[v] for v in sorted(node.uses)]:
                lines.append(f"{name}: wrong arguments")
            else:
                self.done.append(name)
                if self.noise.random() < 0.3:
                    lines.append("warning: {not json} \\x1b[0m $ > out-")
                for value in sorted(node.captures):
                    line = f"out {value} = {self.truth[value]}"
                    lines += [line[i : i + PANE_WIDTH] for i in range(0, len(line), PANE_WIDTH)]
                lines.append(f"done {name}")
        return "\n".join(["New Terminal Output:", *lines, "root@box:/app#", *[""] * self.noise.randrange(30)])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Plan, dict[str, str]]:
    """A random plan of up to three segments, and the value behind each capture: nothing in the plan tells it."""
    count = draw(st.integers(1, 12))
    segments = sorted(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    order = {s: i for i, s in enumerate(sorted(set(segments)), start=1)}
    rng = Random(draw(st.integers(0, 2**32)))
    nodes, truth = [], {}
    for i, segment in enumerate(segments):
        before = sorted(draw(st.sets(st.integers(0, i - 1), max_size=3))) if i else []
        name = f"n{i}"
        truth[f"v{i}"] = "".join(rng.choice("ghijkmnpqrstuwyz") for _ in range(rng.choice((12, 200))))
        uses = sorted(f"v{b}" for b in before)
        nodes.append(
            {
                "id": name,
                "segment": order[segment],
                "command": " ".join([f"run {name}", *(f"{{{v}}}" for v in uses)]),
                "captures": {f"v{i}": rf"^out v{i} = (\w+)$"},
                "expect": rf"^done {name}$",
            }
        )
    guesses = {v: "guess" for v in truth}
    return Plan.model_validate({"name": "random", "when": ["Task"], "nodes": nodes, "guesses": guesses}), truth


@dataclass
class Run:
    turns: int
    done: list[str]
    finished: bool
    messages: Messages
    replies: list[dict[str, Any]]


def simulate(world: tuple[Plan, dict[str, str]], habit: Habit, cap: int | None, seed: int = 0, limit: int = 200) -> Run:
    """terminus-2 over the segments of a task: confirmation in the last one, stop at the cap."""
    plan, truth = world
    terminal, parts = Terminal(plan, truth, Random(seed)), plan.segments
    instruction = "Task one" if parts == 1 else "Task in parts"
    first = texts.single_instruction(instruction, cap) if parts == 1 else texts.first_part(instruction, parts, cap)
    messages, part, asked, replies = first_message(first), 1, False, []
    for turn in range(1, (cap or limit) + 1):
        data = act(messages, habit, plan, seed)
        replies.append(data)
        output = terminal.run(data["commands"])
        if data["task_complete"] and part < parts:
            if not {n.id for n in plan.of_segment(part)} <= set(terminal.done):
                return Run(turn, terminal.done, False, messages, replies)
            part += 1
            output = texts.next_part(f"Do part {part}", part, parts, screen=output, used=turn, cap=cap)
        elif data["task_complete"] and asked:
            return Run(turn, terminal.done, True, messages, replies)
        elif data["task_complete"]:
            asked = True
            output = f"Current terminal state:\n{output}\n\nAre you sure you want to mark the task as complete? "
        else:
            asked = False
        messages.append({"role": "user", "content": output})
    return Run(cap or limit, terminal.done, asked, messages, replies)


def everything(plan: Plan) -> set[str]:
    return {node.id for node in plan.nodes}


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(0, 3))
def test_merge_does_everything_within_any_cap_from_the_depth_on(world: tuple[Plan, dict[str, str]], more: int) -> None:
    depth = plan_depth(world[0])
    run = simulate(world, MERGE, depth + more)
    assert set(run.done) == everything(world[0])
    assert len(run.done) == len(world[0].nodes), "nothing is sent twice"


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_merge_does_not_do_everything_below_the_depth(world: tuple[Plan, dict[str, str]]) -> None:
    depth = plan_depth(world[0])
    if depth > 1:
        assert set(simulate(world, MERGE, depth - 1).done) != everything(world[0])


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_merge_without_a_cap_takes_more_turns_than_the_depth(world: tuple[Plan, dict[str, str]]) -> None:
    run = simulate(world, MERGE, None)
    assert run.finished and set(run.done) == everything(world[0])
    # A look before each part is marked complete, and the confirmation in the last.
    assert run.turns == plan_depth(world[0]) + world[0].segments + 1


@settings(max_examples=40, deadline=None)
@given(worlds(), st.sampled_from(["merge", "step", "flaky-40"]), st.one_of(st.none(), st.integers(1, 8)))
def test_no_value_is_used_before_it_was_shown(world: tuple[Plan, dict[str, str]], model: str, cap: int | None) -> None:
    run = simulate(world, parse_habit(model), cap, seed=5)
    for i, message in enumerate(run.messages):
        if message["role"] == "assistant":
            shown = squash("\n".join(m["content"] for m in run.messages[:i] if m["role"] == "user"))
            typed = " ".join(c["keystrokes"] for c in json.loads(message["content"])["commands"])
            assert all(value in shown for value in world[1].values() if value in typed)


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_step_sends_one_command_a_turn_whatever_the_cap(world: tuple[Plan, dict[str, str]]) -> None:
    run = simulate(world, STEP, 100)
    assert max(len(data["commands"]) for data in run.replies) == 1
    assert set(run.done) == everything(world[0]) and run.turns > len(world[0].nodes)


@settings(max_examples=40, deadline=None)
@given(worlds(), worlds())
def test_blind_never_reads(world: tuple[Plan, dict[str, str]], other: tuple[Plan, dict[str, str]]) -> None:
    plan = world[0]
    data = simulate(world, BLIND, None).replies[0]
    assert data["task_complete"] and len(data["commands"]) == len(plan.of_segment(1))
    messages = first_message("Task")
    messages[0]["content"] += "".join(f"\nout {k} = {v}" for k, v in other[1].items())
    assert act(messages, BLIND, plan)["commands"] == act(first_message("Task"), BLIND, plan)["commands"]


def chain(length: int) -> tuple[Plan, dict[str, str]]:
    nodes = [
        {
            "id": f"n{i}",
            "command": f"run n{i}" + (f" {{v{i - 1}}}" if i else ""),
            "captures": {f"v{i}": rf"^out v{i} = (\w+)$"},
        }
        for i in range(length)
    ]
    plan = Plan.model_validate({"name": "chain", "when": ["Task"], "nodes": nodes})
    return plan, {f"v{i}": f"value{i}" for i in range(length)}


def test_flaky_errs_at_its_rate() -> None:
    plan, _ = chain(1)
    wrong = sum(
        act(first_message("Task"), parse_habit("flaky-20"), plan, seed)["commands"][0]["keystrokes"] != "run n0\n"
        for seed in range(4000)
    )
    # Four standard deviations of a binomial: a wrong rate of 23 % would be seen, a right one fails once in 16,000 seeds.
    assert abs(wrong / 4000 - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 4000)


def test_flaky_tries_again_and_gives_up_after_three_more() -> None:
    world = chain(2)
    always = simulate(world, Habit("flaky", 1.0), None)
    assert always.finished and always.done == []
    assert [len(d["commands"]) for d in always.replies] == [1] * SENDS_PER_NODE + [0, 0]
    runs = [simulate(world, parse_habit("flaky-50"), None, seed) for seed in range(200)]
    # Each of the two nodes fails four times in a row with probability 1/16.
    rate, expected = sum(set(run.done) == {"n0", "n1"} for run in runs) / 200, (1 - 1 / 16) ** 2
    assert abs(rate - expected) < 4 * math.sqrt(expected * (1 - expected) / 200)


def test_flaky_zero_is_merge() -> None:
    world = chain(4)
    assert simulate(world, parse_habit("flaky-0"), 4).replies == simulate(world, MERGE, 4).replies


def test_under_too_small_a_cap_the_last_turn_is_all_guesses() -> None:
    plan = Plan.model_validate({**chain(3)[0].model_dump(), "guesses": {"v0": "g0", "v1": "g1"}})
    data = act(first_message(texts.single_instruction("Task", 1)), MERGE, plan)
    assert [c["keystrokes"] for c in data["commands"]] == ["run n0\n", "run n1 g0\n", "run n2 g1\n"]
    assert data["task_complete"]


def test_a_task_merged_from_segments_is_done_in_order() -> None:
    nodes = [
        {"id": "a", "command": "run a", "captures": {"v": "(x)"}},
        {"id": "b", "command": "run b {v}"},
        {"id": "c", "command": "run c", "segment": 2},
    ]
    plan = Plan.model_validate({"name": "p", "when": ["Task"], "nodes": nodes})
    messages = first_message("Task of one piece")
    assert [c["keystrokes"] for c in act(messages, MERGE, plan)["commands"]] == ["run a\n"]
    messages.append({"role": "user", "content": "New Terminal Output:\nx\n"})
    assert [c["keystrokes"] for c in act(messages, MERGE, plan)["commands"]] == ["run b x\n", "run c\n"]


def test_output_that_comes_late_is_read_when_it_comes() -> None:
    plan, _ = chain(2)
    messages = first_message("Task")
    act(messages, MERGE, plan)
    messages.append({"role": "user", "content": "New Terminal Output:\nroot@box:/app# run n0\n"})
    assert act(messages, MERGE, plan)["commands"][0]["keystrokes"] == "run n0\n"
    late = "New Terminal Output:\nroot@box:/app# run n0\nrun n0\nout v0 = late\n"
    messages.append({"role": "user", "content": late})
    assert act(messages, MERGE, plan)["commands"][0]["keystrokes"] == "run n1 late\n"


# -- reading a terminal ---------------------------------------------------------------------------------------------------


def test_an_echoed_command_is_never_read_as_output() -> None:
    nodes = [
        {"id": "a", "command": 'echo "out v = $x"', "captures": {"v": r"out v = (\S+)"}},
        {"id": "b", "command": "use {v}"},
    ]
    plan = Plan.model_validate({"name": "p", "when": ["Task"], "nodes": nodes})
    messages = first_message("Task")
    act(messages, MERGE, plan)
    for screen in (
        'root@box:/app# echo "out v = $x"\nroot@box:/app#',
        'echo "out v = $x"\nroot@box:/app#',
        'root@box:/app# ec\nho "out v = $x"\nroot@box:/app#',
    ):
        again = act([*messages, {"role": "user", "content": screen}], MERGE, plan)
        assert again["commands"][0]["keystrokes"] == 'echo "out v = $x"\n', "nothing was printed, so it is sent again"
    shown = {"role": "user", "content": 'root@box:/app# echo "out v = $x"\nout v = 7\nroot@box:/app#'}
    assert act([*messages, shown], MERGE, plan)["commands"][0]["keystrokes"] == "use 7\n"


def test_only_output_after_the_last_echo_counts() -> None:
    plan, _ = chain(2)
    messages = first_message("Task")
    act(messages, MERGE, plan)
    old = "Current Terminal Screen:\nout v0 = old\nroot@box:/app# run n0\nout v0 = new\nroot@box:/app#"
    assert (
        act([*messages, {"role": "user", "content": old}], MERGE, plan)["commands"][0]["keystrokes"] == "run n1 new\n"
    )


@given(st.text("ab c", max_size=40), st.integers(1, 12))
def test_unwrap_undoes_the_terminal_except_for_spaces_at_the_break(line: str, width: int) -> None:
    shown = [line[i : i + width] for i in range(0, len(line), width)] or [""]
    if all(len(part) < width for part in shown[-1:]):
        assert unwrap(shown, width) == [line]


def test_echoes_are_taken_out_but_not_lines_that_only_end_alike() -> None:
    assert read_screen("tools\nroot@box:/app# ls\nls\n", ("ls",)).after("") == "tools"


def test_a_line_that_begins_like_a_command_is_kept() -> None:
    screen = read_screen("$ cat a\nca\ntx\n", ("cat a", "cat b"))
    assert screen.after("cat a") == "ca\ntx"


def test_spoilt_commands_fail() -> None:
    assert spoil("cat a.txt") == "ccat a.txt"
    assert spoil("A=1 make all") == "A=1 mmake all"
    assert spoil("123") == "false"


@given(st.text(max_size=60))
def test_a_spoilt_command_is_another_command(command: str) -> None:
    assert spoil(command) != command or command == "false"


# -- what is no ordinary turn -----------------------------------------------------------------------------------------------


def test_without_a_plan_it_looks_and_stops() -> None:
    messages = first_message("Nobody knows how to do this")
    first = act(messages, MERGE)
    assert [c["keystrokes"] for c in first["commands"]] == ["ls -la\n"] and not first["task_complete"]
    messages.append({"role": "user", "content": "New Terminal Output:\n"})
    assert act(messages, MERGE)["task_complete"]


def compressed(messages: Messages, instruction: str, screen: str) -> Messages:
    """What terminus-2 makes of a conversation when it compresses it (its _summarize, with the words of harbor 0.26.0)."""
    ask_summary = f"You are about to hand off your work to another AI agent.\n ...\nOriginal Task: {instruction}\n"
    summary = reply([*messages, {"role": "user", "content": ask_summary}], MERGE, None, None).text
    question = (
        f"You are picking up work from a previous AI agent on this task:\n\n**Original Task:** {instruction}\n\n"
        f"**Summary from Previous Agent:**\n{summary}\n\n**Current Terminal Screen:**\n{screen}\n\nPlease begin by asking"
    )
    questions = reply([{"role": "user", "content": question}], MERGE).text
    request = {"role": "user", "content": f"The next agent has a few questions for you, please answer\n\n{questions}"}
    history = [{"role": "user", "content": ask_summary}, {"role": "assistant", "content": summary}]
    answers = reply([*messages, *history, request], MERGE).text
    assert not any(text.startswith("{") for text in (summary, questions, answers))
    handoff = f"Here are the answers the other agent provided.\n\n{answers}\n\nContinue working on this task"
    return [
        messages[0],
        {"role": "user", "content": question},
        {"role": "assistant", "content": questions},
        {"role": "user", "content": handoff},
    ]


@pytest.mark.parametrize("turn", range(1, 7))
def test_context_compression_loses_nothing_but_the_conversation(turn: int) -> None:
    """After compression (the last output only on the screen) it sends what it would have sent."""
    recorded = RECORDED["control-06-capped"]
    output = recorded[2 * turn]["content"]
    instruction = read_conversation(recorded).opening
    after = compressed(recorded[: 2 * turn], instruction, output.removeprefix("New Terminal Output:\n"))
    plain, state = json.loads(reply(recorded[: 2 * turn + 1], MERGE).text), read_conversation(after)
    assert json.loads(reply(after, MERGE).text)["commands"] == plain["commands"]
    assert (state.turns, state.cap) == (turn, 7)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "system"]),
                "content": st.one_of(
                    st.none(),
                    st.text(max_size=80),
                    st.sampled_from(
                        ['{"plan": "Nodes: a", "commands": [3]}', "{}", "[]", "Progress: {", "Here is part 2 of 3:"]
                    ),
                    st.lists(
                        st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=20)}), max_size=2
                    ),
                ),
            }
        ),
        max_size=6,
    ),
    st.sampled_from([MERGE, STEP, BLIND]),
)
def test_odd_conversations_get_a_reply(messages: Messages, habit: Habit) -> None:
    assert reply(messages, habit).text


def test_usage_is_estimated_from_characters() -> None:
    messages = RECORDED["control-06-capped"][:5]
    answer = reply(messages, MERGE)
    sizes = [len(m["content"]) // 4 for m in messages]
    assert answer.prompt_tokens == sum(sizes) and answer.cached_tokens == sum(sizes[:-1])
    assert answer.completion_tokens == len(answer.text) // 4 > 0
    assert reply(messages[:1], MERGE).cached_tokens == 0


def test_model_names() -> None:
    assert parse_habit("scripted/flaky-20") == Habit("flaky", 0.2)
    assert parse_habit("step") == STEP
    for name in ("flaky", "flaky-101", "merge2", ""):
        with pytest.raises(UserError, match="no such scripted model"):
            parse_habit(name)


def test_every_bundled_plan_can_be_read() -> None:
    assert {"control-06", "control-10", "parallel", "static-chain", "single-script"} <= {p.name for p in load_plans()}
