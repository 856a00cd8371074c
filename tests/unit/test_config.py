"""The config: what is refused and how it is said, the schema, and the paper's study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from termdepth.config import parse_config
from termdepth.config.load import schema_json
from termdepth.config.page import document
from termdepth.errors import UserError
from termdepth.pipeline.listing import splits_of
from termdepth.tasks.sampling import assign_groups

ROOT = Path(__file__).resolve().parents[2]
MODEL = {"id": "m", "litellm": "scripted/merge", "roles": ["first"]}


def parse(check_paths: bool = False, **dataset: Any) -> Any:
    data = {"datasets": [{"name": "d", "path": "x", "kind": "human", **dataset}], "models": [MODEL]}
    return parse_config(data, where="config.yaml", check_paths=check_paths)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ({"path": None}, "datasets[0] (d): give a path, or a registry to download from"),
        ({"registry": {"name": "a@1"}}, "datasets[0] (d): give a path, or a registry to download from"),
        ({"path": None, "registry": {"name": "a b"}}, "datasets[0] (d).registry.name"),
        ({"groups": [{"by": "w_lines", "bins": [5, 3]}]}, "the limits of the groups must ascend, not [5.0, 3.0]"),
        ({"groups": [{"by": "w_lines", "bins": 1}]}, "datasets[0] (d).groups[0].bins"),
        ({"groups": [{"bins": 3}]}, "datasets[0] (d).groups[0].by: this key is missing"),
        ({"evidence": {"colum": "passes"}}, "datasets[0] (d).evidence.colum: unknown key (did you mean column?)"),
        ({"sample": 0}, "datasets[0] (d).sample"),
        ({"oracle_repeats": -1}, "datasets[0] (d).oracle_repeats"),
        ({"light": {"build_mb": 0}}, "datasets[0] (d).light.build_mb"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(dataset: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        parse(**dataset)
    assert said in str(error.value) and str(error.value).startswith("config.yaml: ")


def test_missing_files_are_all_said(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        parse(True, path=tmp_path / "none", csv={"path": tmp_path / "none.csv"})
    assert [line.split(": ")[1] for line in str(error.value).splitlines()] == [
        "datasets[0] (d).path",
        "datasets[0] (d).csv.path",
    ]


def test_the_schema_and_its_page_are_the_models() -> None:
    assert (ROOT / "config/schema.json").read_text() == schema_json(), "run: make docs"
    assert (ROOT / "docs/config.md").read_text() == document(), "run: make docs"


def test_every_key_has_a_meaning() -> None:
    rows = [line.split(" | ") for line in document().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert [row[0] for row in rows if len(row[-1].strip(" |")) < 5] == []


def test_every_key_of_a_dataset_is_documented() -> None:
    from termdepth.config.models import Dataset

    text = (ROOT / "docs/datasets.md").read_text()
    assert [key for key in Dataset.model_fields if f"`{key}`" not in text] == []


def test_the_example_in_the_documentation_is_a_config() -> None:
    text = (ROOT / "docs/datasets.md").read_text()
    blocks = [yaml.safe_load(part.split("```")[0]) for part in text.split("```yaml\n")[1:]]
    assert len(blocks) >= 4
    for block in blocks:
        datasets = block.pop("datasets", [{"name": "d", "path": "x", "kind": "human"}])
        parse_config({"datasets": datasets, "models": [MODEL]} | block, where="docs/datasets.md", check_paths=False)


# --- the paper's study


@pytest.fixture(scope="module")
def paper() -> Any:
    data = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
    return parse_config(data, where="config/paper.yaml", check_paths=False)


def test_the_papers_samples_and_limits(paper: Any) -> None:
    samples = {d.title: d.sample for d in paper.datasets}
    assert samples == {"TMax": 100, "FACET": 210, "SETA": 100, "RST": 200, "TB2": "all", "TW": "all", "Ours": "all"}
    for d in paper.datasets:
        assert d.light.model_dump() == {"download_mb": 200, "build_mb": 1000, "build_sec": 600}
        limits = [d.time_limit_sec(k) / 60 for k in (1, 3, 5, 6)]
        assert limits == ([180, 90, 150, 180] if d.name == "ours" else [30] * 4)
    ours = paper.dataset("ours")
    assert (ours.network, ours.evaluate, ours.merge.tasks) == ("none", True, 25)
    assert paper.protocol.caps == [1, 2, 3, 5, 10, 20, 40, 80] and paper.protocol.turn_limit == 150


def test_the_papers_models(paper: Any) -> None:
    assert paper.role("first").title == "DeepSeek-V4.1-Flash" and paper.role("second").title == "GLM-5.3-Flash"
    assert len(paper.evaluated) == 6
    assert {m.title: m.reasoning_effort for m in paper.models if m.reasoning_effort} == {"GPT-6 Luna": "medium"}
    assert (paper.role("first").prices.input, paper.role("first").prices.output) == (0.30, 1.20)
    assert (paper.role("second").prices.input, paper.role("second").prices.output) == (0.15, 0.50)


def test_the_papers_groups(paper: Any) -> None:
    """The number of groups of Table 4, on made-up values."""

    def groups(name: str, rows: list[dict[str, Any]]) -> set[str]:
        return set(assign_groups(rows, splits_of(paper.dataset(name))).values())

    tmax = [{"task": f"{c}{t}", "complexity": c, "fewest_turns": t} for c in (1, 2, 3, 4) for t in range(1, 10)]
    assert len(groups("tmax", tmax)) == 3 * 3 + 1 and "4" in groups("tmax", tmax)
    facet = [{"task": str(n), "n_checks": n} for n in range(30)]
    assert len(groups("facet", facet)) == 3
    seta = [
        {"task": f"{s}{v}{i}", "source": s, "level": v, "fewest_iterations": i if s == "Evolve" else None}
        for s in ("Synth", "Evolve")
        for v in ("easy", "medium", "hard")
        for i in range(9)
    ]
    assert groups("seta", seta) == {"Synth / hard", "Evolve / <=2", "Evolve / >2, <=5", "Evolve / >5"}
    assert len(groups("rst", [{"task": str(n), "w_lines": n} for n in range(40)])) == 4
    tb2 = [{"task": str(n), "public.DeepSeek-V3.2.passes": n} for n in range(1, 6)]
    assert groups("tb2", tb2) == {"<=2", ">2, <=4", ">4"}


def test_an_address_has_its_scheme() -> None:
    data = {
        "datasets": [{"name": "d", "path": "x", "kind": "human"}],
        "models": [MODEL | {"api_base": "localhost:8000"}],
    }
    with pytest.raises(UserError, match="api_base: an address begins with http:// or https://"):
        parse_config(data, where="config.yaml", check_paths=False)
