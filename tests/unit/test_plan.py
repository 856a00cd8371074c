"""Plans: loading with errors a user can act on, filling, the depth of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from termdepth.errors import UserError
from termdepth.models.plan import Node, Plan, Recipe, fill, find_plan, load_plan, load_plans, plan_depth, plans_folder


def plan(nodes: list[dict[str, Any]], **keys: Any) -> Plan:
    return Plan.model_validate({"name": "p", "when": ["x"], "nodes": nodes, **keys})


def test_fill_replaces_names_and_leaves_other_braces() -> None:
    assert fill("awk '{print $2}' {file} ${{HOME}} {1}", {"file": "a b"}) == "awk '{print $2}' a b ${HOME} {1}"
    with pytest.raises(KeyError):
        fill("{missing}", {})


def test_a_value_is_not_filled_twice() -> None:
    assert fill("{a} {b}", {"a": "{b}", "b": "2"}) == "{b} 2"


def test_depth_counts_nodes_on_the_longest_path() -> None:
    chain = plan([{"id": f"n{i}", "command": "x", "after": [f"n{i - 1}"] if i else []} for i in range(6)])
    assert plan_depth(chain) == 6
    wide = plan(
        [
            {"id": "read", "command": "x", "captures": {"a": "(.)"}},
            *({"id": f"n{i}", "command": "echo {a}"} for i in range(10)),
        ]
    )
    assert plan_depth(wide) == 2


def test_depth_sums_over_segments_and_edges_from_earlier_ones_are_free() -> None:
    p = plan(
        [
            {"id": "a", "command": "x", "captures": {"v": "(.)"}},
            {"id": "b", "command": "{v}"},
            {"id": "c", "segment": 2, "command": "{v}", "after": ["b"]},
            {"id": "d", "segment": 3, "command": "x"},
            {"id": "e", "segment": 3, "command": "x", "after": ["d"]},
        ]
    )
    assert plan_depth(p) == 2 + 1 + 2
    assert p.edges["b"] == {"a"}


@given(st.lists(st.lists(st.integers(0, 19), max_size=4), min_size=1, max_size=20))
def test_depth_is_the_number_of_rounds_of_sending_all_that_is_ready(before: list[list[int]]) -> None:
    """An independent simulation: send every ready node each round, until none is left."""
    edges = [{f"n{b}" for b in bs if b < i} for i, bs in enumerate(before)]
    p = plan([{"id": f"n{i}", "command": "x", "after": sorted(e)} for i, e in enumerate(edges)])
    read: set[str] = set()
    rounds = 0
    while len(read) < len(edges):
        read |= {f"n{i}" for i, e in enumerate(edges) if e <= read}
        rounds += 1
    assert plan_depth(p) == rounds


@pytest.mark.parametrize(
    ("nodes", "keys", "problem"),
    [
        ([{"id": "a", "command": "x"}, {"id": "a", "command": "y"}], {}, "used twice"),
        ([{"id": "a", "command": "{v}"}], {}, "captured nowhere"),
        ([{"id": "a", "command": "x", "after": ["b"]}], {}, "no such node"),
        ([{"id": "a", "command": "x", "after": ["b"]}, {"id": "b", "command": "x", "after": ["a"]}], {}, "circle"),
        ([{"id": "a", "command": "x", "after": ["b"]}, {"id": "b", "command": "x", "segment": 2}], {}, "later segment"),
        ([{"id": "a", "command": "x", "segment": 2}], {}, "without a gap"),
        ([{"id": "a", "command": "x", "captures": {"v": "no group"}}], {}, "needs a group"),
        ([{"id": "a", "command": "x", "expect": "("}], {}, "not a regular expression"),
        ([{"id": "a"}], {}, "command or a recipe"),
        ([{"id": "a", "recipe": "x", "command": "echo"}], {}, "{recipe}"),
        ([{"id": "a", "command": "x"}], {"guesses": {"v": "1"}}, "captured nowhere"),
        ([{"id": "a", "command": "x"}], {"when": [""]}, "every instruction"),
        ([{"id": "a", "command": "x"}], {"recipes": [{"phrase": "(?P<a>.)", "command": "{b}"}]}, "no named groups"),
        ([{"id": "a", "command": "x", "wiat": 1}], {}, "nodes.0.wiat"),
        ([{"id": "a", "command": "x", "wait": 61}], {}, "nodes.0.wait"),
    ],
)
def test_a_wrong_plan_names_file_and_key(tmp_path: Path, nodes: list[Any], keys: dict[str, Any], problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump({"name": "p", "when": ["x"], "nodes": nodes, **keys}))
    with pytest.raises(UserError) as error:
        load_plan(path)
    assert str(path) in str(error.value) and problem in str(error.value)
    assert "\n" not in str(error.value)


def test_broken_yaml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: p\nwhen: [x\nnodes: []\n")
    with pytest.raises(UserError, match=rf"{path}:\d+: broken YAML"):
        load_plan(path)


@pytest.mark.parametrize("content", [b"", b"- 1\n", b"\xff\xfe"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"bad\.yaml"):
        load_plan(path)


def test_library_recipes_come_after_own(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/tools.yaml").write_text(
        "recipes:\n- {phrase: a, command: from library}\n- {phrase: b, command: b}\n"
    )
    (tmp_path / "p.yaml").write_text(
        "name: p\nwhen: [x]\nlibrary: tools\nrecipes: [{phrase: a, command: own}]\nnodes: [{id: n, recipe: a}]\n"
    )
    p = load_plan(tmp_path / "p.yaml")
    assert [r.command for r in p.recipes] == ["own", "from library", "b"]
    (tmp_path / "recipes/tools.yaml").unlink()
    with pytest.raises(UserError, match="library"):
        load_plan(tmp_path / "p.yaml")


def test_two_plans_of_one_name_are_refused_and_changes_are_seen(tmp_path: Path) -> None:
    text = "name: {}\nwhen: [x]\nnodes: [{{id: n, command: y}}]\n"
    (tmp_path / "a.yaml").write_text(text.format("one"))
    assert [p.name for p in load_plans(tmp_path)] == ["one"]
    (tmp_path / "b.yaml").write_text(text.format("two"))
    assert [p.name for p in load_plans(tmp_path)] == ["one", "two"]
    (tmp_path / "c.yaml").write_text(text.format("one"))
    with pytest.raises(UserError, match=r"c\.yaml.*a\.yaml"):
        load_plans(tmp_path)


def test_folder_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMDEPTH_PLANS", str(tmp_path / "none"))
    assert plans_folder() == tmp_path / "none"
    with pytest.raises(UserError, match="TERMDEPTH_PLANS"):
        load_plans()


def test_the_most_specific_plan_is_found() -> None:
    general, special = (
        plan([{"id": "a", "command": "x"}], when=["chain"]),
        plan([{"id": "a", "command": "y"}], when=["chain", "6 steps"], name="q"),
    )
    assert find_plan("a chain of 6 steps", [general, special]) is special
    assert find_plan("a chain of 7 steps", [general, special]) is general
    assert find_plan("else", [general, special]) is None


def test_recipes_take_whole_phrases_only() -> None:
    recipe = Recipe(phrase=r"count (?P<file>\S+)", command="wc -l < {file}")
    assert recipe.apply("count a.txt") == "wc -l < a.txt"
    assert recipe.apply("count a.txt twice") is None


def test_node_uses() -> None:
    assert Node(id="a", recipe="{step}", command="x {recipe} {v}").uses == {"step", "v"}
