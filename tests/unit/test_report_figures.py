"""The whole registry on a made-up study of full size, on a small one, and on nothing; text must stay readable."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import matplotlib.text
import numpy as np
import pandas as pd
import pytest
from fake_study import fake_study
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.figures.parts import spread
from termdepth.report.figures.segmented import merged_depth
from termdepth.report.frames import prepare
from termdepth.report.levels import level_order
from termdepth.report.registry import ITEMS
from termdepth.report.render import render

Study = tuple[dict[str, pd.DataFrame], ReportContext]
FIGURES = [name for name, item in ITEMS.items() if item.kind == "figure"]
CAPTIONS = Path(__file__).parents[2] / "workflow" / "report"


@pytest.fixture(scope="session")
def full() -> Study:
    return fake_study()


@pytest.fixture(scope="session")
def small(full: Study) -> Study:
    """Ten calibration tasks and five segmented ones, as in the default config; no published results of them."""
    frames, context = full
    depth = frames["depth"]
    ours = depth[(depth["dataset"] == "Ours") & depth["solved"]].head(5)
    kept = pd.concat([depth[depth["dataset"] == "calibration"], ours])
    keys = set(zip(kept["dataset"], kept["task"], strict=True))
    few = {}
    for name, frame in frames.items():
        rows = [key in keys for key in zip(frame["dataset"], frame["task"], strict=True)]
        few[name] = frame[rows].replace({"dataset": {"Ours": "segmented"}})
    datasets = (DatasetInfo("calibration", "Calibration", "calibration"), DatasetInfo("segmented", "Segmented", "ours"))
    return few, replace(context, datasets=datasets)


def texts(figure: Figure) -> list[tuple[str, matplotlib.text.Text]]:
    figure.canvas.draw()
    return [(t.get_text(), t) for t in figure.findobj(matplotlib.text.Text) if t.get_visible() and t.get_text().strip()]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("size", ["full", "small"])
def test_no_text_leaves_the_canvas_or_lies_on_another(name: str, size: str, request: pytest.FixtureRequest) -> None:
    frames, context = request.getfixturevalue(size)
    item = ITEMS[name]
    with style.applied():
        figure = item.builder()(prepare(frames, item.inputs), context)
        if isinstance(figure, str):
            assert size == "small"
            return
        renderer = figure.canvas.get_renderer()
        boxes = [(s, matplotlib.text.Text.get_window_extent(t, renderer)) for s, t in texts(figure)]
    width, height = figure.canvas.get_width_height()
    outside = [s for s, b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]
    assert outside == []

    def overlap(a: matplotlib.text.Bbox, b: matplotlib.text.Bbox) -> bool:
        # A box is a little taller than its letters, so boxes may touch.
        return min(a.x1, b.x1) - max(a.x0, b.x0) > 1.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 3

    assert [(s, u) for (s, a), (u, b) in itertools.combinations(boxes, 2) if overlap(a, b)] == []


def test_everything_renders_at_full_size_in_seconds(full: Study, tmp_path: Path) -> None:
    frames, context = full
    start = time.process_time()  # wall time would measure the neighbours
    for item in ITEMS.values():
        render(item, frames, context, tmp_path / item.name)
    assert time.process_time() - start < 30
    written = {p.name for p in tmp_path.iterdir()}
    assert written == {item.name + suffix for item in ITEMS.values() for suffix in item.files}
    from PIL import Image

    for suffix, inches in ((".print.png", style.PAGE), (".png", style.PAGE * style.SCREEN)):
        with Image.open(tmp_path / f"figure3{suffix}") as image:
            assert image.width == pytest.approx(inches * 200, abs=1)
            assert image.info["dpi"] == pytest.approx((200, 200), abs=0.1)
    svg = (tmp_path / "figure3.svg").read_text()
    assert f'width="{style.PAGE * style.SCREEN * 72:g}pt"' in svg
    assert f'viewBox="0 0 {style.PAGE * 72:g} ' in svg
    assert "<text" in svg
    assert ">Depth and work<" in svg
    pdf = (tmp_path / "figure3.print.pdf").read_bytes()
    assert re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", pdf)[1] == f"{style.PAGE * 72:g}".encode()  # type: ignore[index]


def test_everything_renders_from_nothing(tmp_path: Path) -> None:
    for item in ITEMS.values():
        render(item, {}, ReportContext(), tmp_path / item.name)
    assert (tmp_path / "table1.csv").read_text() == "note\nNo task has been measured yet.\n"
    assert "No solved task" in (tmp_path / "figure3.svg").read_text()


def test_everything_renders_when_no_run_is_valid(full: Study, tmp_path: Path) -> None:
    """A provider that was out for a night must not end the report, whatever else it means."""
    frames, context = full
    runs = frames["runs"].assign(valid=False, passed=False, outcome="infrastructure_error", label=None)
    depth = frames["depth"].assign(
        solved=None,
        d=None,
        d_above=False,
        d_lower=None,
        d_first=None,
        d_first_above=False,
        n=None,
        r=None,
        minutes=None,
    )
    for item in ITEMS.values():
        render(item, frames | {"runs": runs, "depth": depth}, context, tmp_path / item.name)
    assert "not measured" in (tmp_path / "depth.csv").read_text()


def test_the_same_data_give_the_same_bytes(small: Study, tmp_path: Path) -> None:
    frames, context = small
    for folder in ("one", "two"):
        for name in ("figure3", "table1"):
            render(ITEMS[name], frames, context, tmp_path / folder / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_every_item_has_a_caption_and_no_caption_is_left_over() -> None:
    assert {p.stem for p in CAPTIONS.glob("*.rst")} >= set(ITEMS)
    for name in ITEMS:
        assert len((CAPTIONS / f"{name}.rst").read_text().split()) > 15, name


def test_the_registry_is_light_to_import() -> None:
    code = (
        "import sys, termdepth.report.registry, termdepth.report.context\n"
        "heavy = {'pandas', 'matplotlib', 'numpy', 'scipy', 'pyarrow', 'litellm'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_context_survives_json(full: Study) -> None:
    _, context = full
    assert ReportContext.from_json(json.loads(json.dumps(context.to_json()))) == context


def test_d_above_the_largest_cap_stands_apart_and_unsolved_nowhere() -> None:
    axis = style.CapAxis((1, 2, 3, 5))
    places = axis.positions([1, 5, np.inf, np.nan])
    assert places[:2].tolist() == [0, 3]
    assert places[2] > 3 + 1  # more than a step above the largest cap
    assert np.isnan(places[3])


def test_colours_stay_when_a_dataset_is_added_after() -> None:
    def context(*names: str) -> ReportContext:
        return ReportContext(datasets=tuple(DatasetInfo(n, n, "human") for n in names))

    before = style.dataset_colours(context("alpha", "beta", "TB2"))
    after = style.dataset_colours(context("alpha", "beta", "TB2", "gamma", "delta", "epsilon"))
    assert {k: after[k] for k in before} == before
    assert len(set(after.values())) == 6
    assert before["TB2"] == style.BLUE


def test_labels_are_spread_by_the_least_movement() -> None:
    assert spread([0.1, 0.5], 0.1, 0, 1) == pytest.approx([0.1, 0.5])
    assert spread([0.52, 0.48, 0.9], 0.1, 0, 1) == pytest.approx([0.55, 0.45, 0.9])
    assert spread([0.0, 0.0, 0.0], 0.1, 0, 1) == pytest.approx([0.0, 0.1, 0.2])
    crowded = sorted(spread([0.5] * 21, 0.1, 0, 1))
    assert crowded == pytest.approx(np.linspace(0, 1, 21))


def test_levels_are_ordered_by_meaning() -> None:
    assert level_order(["hard", "easy", None, "medium", "Very hard", "easy"]) == ["easy", "medium", "hard", "Very hard"]
    assert level_order(["10", "9", "1"]) == ["1", "9", "10"]


def test_a_merged_task_has_the_smallest_cap_passed_or_none() -> None:
    depth = pd.DataFrame({"dataset": "o", "task": list("ab"), "d_first": [40, 20], "d_first_above": [False, False]})
    cells = [
        ("a", 40, True, True),
        ("a", 20, True, True),
        ("a", 10, False, True),
        ("b", 20, False, True),
        ("b", 10, True, False),
    ]
    runs = pd.DataFrame(
        [{"dataset": "o", "task": t, "phase": "merged", "cap": c, "passed": p, "valid": v} for t, c, p, v in cells]
    )
    frames = prepare({"depth": depth, "runs": runs}, ("depth", "runs"))
    merged = merged_depth(frames["depth"], frames["runs"]).set_index("task")["merged"]
    assert merged["a"] == 20
    assert np.isnan(merged["b"])
