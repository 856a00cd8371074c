"""The pages and the folder they are written to."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from explorer_study import (
    HOSTILE,
    admission_row,
    agent_step,
    depth_row,
    hostile_study,
    public_row,
    run_row,
    task_row,
    turn_rows,
    write_run,
)
from termdepth.data.io import to_arrow
from termdepth.data.schema import TABLES
from termdepth.errors import UserError
from termdepth.explorer import ExplorerData, build
from termdepth.explorer.index import columns, csv_line, gather, values
from termdepth.explorer.render import PAGE_CHARS, TEXT_CHARS, Site, bars, render_task, text_limit
from termdepth.explorer.text import clean
from termdepth.explorer.timeline import Message, Segment, Timeline, Turn, read_timeline
from termdepth.report.context import DatasetInfo, ModelInfo, ReportContext

CONTEXT = ReportContext(datasets=(DatasetInfo("z", "Zed", "human"), DatasetInfo("d", "Dee", "human")))


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({k for k, _ in attrs}) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self._open, []).append(data)

    def all_text(self) -> str:
        return "".join(t for tag, texts in self.text.items() if tag not in ("script", "style") for t in texts)

    def ids(self) -> list[str]:
        return [a["id"] or "" for _, a in self.tags if "id" in a]


def _cells(data: ExplorerData) -> dict[str, dict[str, Any]]:
    """The index's cells by task and column."""
    tasks = gather(data, CONTEXT)
    table = columns(tasks, CONTEXT)
    return {t.task: dict(zip((c.name for c in table), values(t, table, CONTEXT), strict=True)) for t in tasks}


# --- the index


def test_depth_is_an_interval_and_above_the_largest_cap_is_a_rank() -> None:
    depth = [
        depth_row("mid"),
        depth_row("deep", d=None, d_above=True, d_lower=80, n=95),
        depth_row("unsolved", solved=False, d=None, d_lower=None, n=None, r=0.0),
    ]
    cells = _cells(ExplorerData(depth=depth))
    assert [(cells[t]["d"].shown, cells[t]["d"].sort) for t in ("mid", "deep", "unsolved")] == [
        ("(3, 5]", 5),
        (">80", math.inf),
        ("", None),
    ]
    assert [cells[t]["status"].shown for t in ("mid", "deep", "unsolved")] == ["solved", "solved", "not solved"]
    assert cells["deep"]["d"].key == "Infinity"
    assert cells["unsolved"]["r"].shown == "0%"


def test_pass_rates_leave_invalid_runs_out_and_weigh_published_sources_by_runs() -> None:
    runs = [
        run_row(phase="evaluation", model="e", attempt=1),
        run_row(phase="evaluation", model="e", attempt=2, passed=False),
        run_row(phase="evaluation", model="e", attempt=3, passed=False, valid=False),
        run_row(phase="evaluation", model="f", valid=False, passed=False),
    ]
    public = [
        public_row(source="x", runs=1, rate=1.0),
        public_row(source="y", runs=3, rate=0.0),
        public_row("other", runs=1),
    ]
    cells = _cells(ExplorerData(tasks=[task_row()], runs=runs, public_pass_rates=public))
    assert list(cells) == ["a"]
    assert (cells["a"]["pass_e"].shown, cells["a"]["pass_f"].shown, cells["a"]["public_rate"].shown) == (
        "50%",
        "",
        "25%",
    )
    assert cells["a"]["runs"].sort == 4


def test_every_task_is_in_the_index_with_its_reason() -> None:
    data = ExplorerData(
        tasks=[
            task_row("no-docker", problem="no Dockerfile"),
            task_row("gpu"),
            task_row("in"),
            task_row("solved", "z"),
        ],
        admission=[admission_row("gpu", admitted=False, reason="needs a GPU"), admission_row("in")],
        depth=[depth_row("solved", "z")],
    )
    tasks = gather(data, CONTEXT)
    assert [(t.dataset, t.task) for t in tasks] == [("z", "solved"), ("d", "gpu"), ("d", "in"), ("d", "no-docker")]
    cells = _cells(data)
    assert {t: c["status"].shown for t, c in cells.items()} == {
        "solved": "solved",
        "gpu": "not admitted: needs a GPU",
        "in": "not measured",
        "no-docker": "not admitted: no Dockerfile",
    }
    assert [t.page is not None for t in tasks] == [True, False, False, False]


def test_a_csv_cell_is_never_a_formula_and_numbers_stay_numbers() -> None:
    assert csv_line(["=cmd|x", "+1", "-0.5", "@a", "a,b", 'q"', "x\ny", "-dash"]) == (
        '\'=cmd|x,+1,-0.5,\'@a,"a,b","q""","x\ny",\'-dash'
    )


def test_the_csv_is_the_index(tmp_path: Path) -> None:
    build(ExplorerData(depth=[depth_row("b"), depth_row("a,\n")], runs=[run_row("b")]), tmp_path / "x", context=CONTEXT)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x/tasks.csv").read_text(), newline="")))
    assert [r["task"] for r in rows] == ["a,\n", "b"]
    assert {k: rows[1][k] for k in ("dataset", "w_lines", "d", "n", "r", "runs")} == {
        "dataset": "d", "w_lines": "7", "d": "(3, 5]", "n": "6", "r": "0.5000", "runs": "1",
    }  # fmt: skip
    page = Page((tmp_path / "x/index.html").read_text())
    lines = [a["data-csv"] for _, a in page.tags if "data-csv" in a]
    assert "\n".join(line or "" for line in lines) + "\n" == (tmp_path / "x/tasks.csv").read_text()


# --- a task's page


def _study(root: Path) -> ExplorerData:
    capped = run_row(
        phase="probe",
        cap=3,
        n_segments=3,
        passed=False,
        segments_passed=1,
        turns_per_segment=[2, 1],
        outcome="turn_cap",
    )
    runs = [run_row(n_segments=3, turns_per_segment=[1, 1, 1]), capped]
    turn = agent_step("Plan: look", ["ls\n"], "some output")
    for run in runs:
        write_run(root, run, [[turn] * n for n in run["turns_per_segment"]])
    return ExplorerData(depth=[depth_row(n_segments=3, n=3)], runs=runs, turns=[t for r in runs for t in turn_rows(r)])


def test_a_task_s_page_shows_each_turn_and_where_each_segment_passed(tmp_path: Path) -> None:
    files = build(_study(tmp_path), tmp_path / "x", root=tmp_path, context=CONTEXT)
    page = Page(next(f for f in files if f.parent.name == "tasks").read_text())
    assert [i for i in page.ids() if re.fullmatch(r"run-\d+-t\d+", i)] == [
        f"run-{r}-t{t}" for r in (1, 2) for t in (1, 2, 3)
    ]
    text = " ".join(page.all_text().split())
    assert text.count("some output") == 6
    assert [p for p in re.findall(r"Segment \d (?:passed|did not pass)", text)] == [
        "Segment 1 passed", "Segment 2 passed", "Segment 3 passed", "Segment 1 passed", "Segment 2 did not pass",
    ]  # fmt: skip
    assert "1 segment was not reached." in text
    assert "1 of 3 segments passed" in text
    assert "(3, 5]" in text
    marks = [a["aria-label"] for tag, a in page.tags if tag == "a" and "mark" in (a.get("class") or "")]
    assert marks == ["no cap, attempt 1: passed", "cap 3, attempt 1: failed, turn cap"]


def test_a_page_says_what_is_missing(tmp_path: Path) -> None:
    run = run_row()
    files = build(ExplorerData(runs=[run], turns=turn_rows(run)), tmp_path / "x", root=tmp_path)
    assert "The folder of this run is missing" in files[2].read_text()


def _timeline(sizes: list[int]) -> Timeline:
    return Timeline([Segment(1, "", "passed", [Message("user", "x" * n) for n in sizes])], [])


def test_long_texts_are_cut_only_when_a_page_would_grow_too_large() -> None:
    assert text_limit([_timeline([100, 50_000])]) == TEXT_CHARS
    assert text_limit([]) == TEXT_CHARS
    many = [_timeline([10_000] * 300 + [50] * 300) for _ in range(34)]
    limit = text_limit(many)
    assert (
        sum(min(len(t), limit) for line in many for t in line.texts()) <= PAGE_CHARS * 1.6
    )  # each text keeps a little


def test_a_cut_run_has_a_page_with_all_of_it(tmp_path: Path) -> None:
    run = run_row(turns_per_segment=[2])
    end = "the very end"
    write_run(tmp_path, run, [[agent_step("", ["ls\n"], "short"), agent_step("", ["x\n"], "y" * 2 * TEXT_CHARS + end)]])
    files = build(ExplorerData(runs=[run], turns=turn_rows(run)), tmp_path / "x", root=tmp_path)
    task, whole = files[2], files[3]
    assert whole.parent.name == "runs"
    assert end not in task.read_text()
    assert end in whole.read_text()
    page = Page(task.read_text())
    links = [a["href"] or "" for tag, a in page.tags if tag == "a"]
    assert f"../runs/{whole.name}#run-1-t2" in links
    assert "run-1-t2" in Page(whole.read_text()).ids()


def test_the_picture_of_a_run_has_a_bar_for_each_turn() -> None:
    rows = [
        {"segment": s, "model_seconds": m, "terminal_seconds": t}
        for s, m, t in ((1, 9.0, 0.0), (1, 0.0, 0.0), (2, 1.0, None))
    ]
    line = Timeline([Segment(1, "", "passed", [Turn(i, r) for i, r in enumerate(rows)])], [])
    first, second, third = bars(line)
    assert (first.model, first.terminal) == (28.0, 0.0)
    assert second.model == 2.0  # seen, though it took no time
    assert third.model == pytest.approx(28 / 3, abs=0.05)
    assert [b.starts_segment for b in (first, second, third)] == [False, False, True]


# --- untrusted text


def test_the_hostile_rows_are_rows_of_the_tables(tmp_path: Path) -> None:
    data = hostile_study(tmp_path)
    for name, rows in data.items():
        writable = [
            {k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for k, v in r.items()} for r in rows
        ]
        to_arrow(writable, TABLES[name])


def test_nothing_untrusted_becomes_markup(tmp_path: Path) -> None:
    files = build(
        ExplorerData(**hostile_study(tmp_path)), tmp_path / "x", root=tmp_path, title=HOSTILE[1], notes=HOSTILE
    )
    pages = [f for f in files if f.suffix == ".html"]
    assert len(pages) == 1 + 2 * len(HOSTILE)
    for file in pages:
        html = file.read_text()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
        page = Page(html)
        tags = [t for t, _ in page.tags]
        assert (tags.count("script"), tags.count("style")) == (1, 1)
        assert not {"img", "iframe", "object", "embed", "base", "form"} & set(tags)
        for tag, attributes in page.tags:
            assert not [a for a in attributes if a.startswith("on") or a in ("style", "srcset", "srcdoc")], (
                tag,
                attributes,
            )
            for name in ("href", "src", "action"):
                assert re.fullmatch(r"(data:,|(\.\./)?[a-z0-9/.-]*(#[a-z0-9-]+)?)", attributes.get(name) or ""), (
                    attributes
                )
        assert len(set(page.ids())) == len(page.ids())
    index = Page(pages[0].read_text()).all_text()
    for text in HOSTILE:
        assert clean(text) in index


def test_the_policy_allows_the_page_s_own_style_and_script_and_nothing_else(tmp_path: Path) -> None:
    build(ExplorerData(depth=[depth_row()]), tmp_path / "x")
    html = (tmp_path / "x/index.html").read_text()
    page = Page(html)
    policy = dict(
        p.strip().split(" ", 1)
        for p in next(
            a["content"] or "" for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"
        ).split(";")
    )
    assert policy.pop("default-src") == policy.pop("base-uri") == policy.pop("form-action") == "'none'"
    assert policy.pop("img-src") == "data:"
    for tag in ("style", "script"):
        body = re.search(f"<{tag}>(.*?)</{tag}>", html, re.S)
        assert body
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert policy.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert policy == {}
    assert html.index("Content-Security-Policy") < html.index("<style>")


# --- the folder


def test_files_are_inside_the_folder_and_nothing_else_is_written(tmp_path: Path) -> None:
    tasks = ["../../up", "..", "/abs", "a/b", "A/B", "a/b/", "ünï", "x" * 3_000, *HOSTILE]
    data = ExplorerData(depth=[depth_row(t, d) for t in tasks for d in ("d", "../d")])
    files = build(data, tmp_path / "out/explorer")
    assert len(files) == 2 + 2 * len(tasks)
    inside = (tmp_path / "out/explorer").resolve()
    assert all(f.is_file() and f.resolve().is_relative_to(inside) for f in files)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["explorer"]


def test_the_same_data_gives_the_same_bytes_however_many_processes(tmp_path: Path) -> None:
    data = ExplorerData(depth=[depth_row(f"t{i}") for i in range(45)], runs=[run_row(f"t{i}") for i in range(45)])
    one, two = build(data, tmp_path / "one"), build(data, tmp_path / "two", workers=2)
    assert [f.relative_to(tmp_path / "one") for f in one] == [f.relative_to(tmp_path / "two") for f in two]
    assert [f.read_bytes() for f in one] == [f.read_bytes() for f in two]


def test_a_build_replaces_the_one_before(tmp_path: Path) -> None:
    out = tmp_path / "x"
    (tmp_path / ".x.new").mkdir()  # left by a build that was killed
    before = build(ExplorerData(depth=[depth_row("old")]), out)
    after = build(ExplorerData(depth=[depth_row("new")]), out)
    assert before[2] != after[2]
    assert not before[2].exists()
    assert after[2].exists()
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/thesis.tex").write_text("years of work")
    for out in (tmp_path / "x", tmp_path / "x/thesis.tex"):
        with pytest.raises(UserError, match="remove it"):
            build(ExplorerData(), out)
    assert (tmp_path / "x/thesis.tex").read_text() == "years of work"


def test_a_failed_build_leaves_the_one_before(tmp_path: Path) -> None:
    out = tmp_path / "x"
    build(ExplorerData(depth=[depth_row("good")]), out)
    index = (out / "index.html").read_text()
    with pytest.raises(KeyError):
        build(ExplorerData(depth=[{"dataset": "d", "task": "bad"}]), out)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write the explorer"):
        build(ExplorerData(), tmp_path / "file/x")
    assert (out / "index.html").read_text() == index
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "x"]


def test_no_data_is_a_page_that_says_so(tmp_path: Path) -> None:
    files = build(ExplorerData(), tmp_path / "x", notes=["Nothing yet."])
    assert "0 tasks" in " ".join(Page(files[0].read_text()).all_text().split())
    assert "Nothing yet." in files[0].read_text()


def test_labels_come_from_the_config(tmp_path: Path) -> None:
    context = ReportContext(datasets=(DatasetInfo("d", "Dee", "human"),), models=(ModelInfo("m", "The Model"),))
    run = run_row(phase="evaluation")
    (task,) = gather(ExplorerData(depth=[depth_row()], runs=[run]), context)
    html, wholes = render_task(task, [read_timeline(run, [], tmp_path)], Site("t", (), context))
    assert "The Model" in html
    assert "Dee" in html
    assert wholes == {}
