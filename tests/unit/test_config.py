"""Each mistake in a config is one clear line, with file and key, before anything runs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from termdepth.config import Config, load_config, parse_config
from termdepth.config.load import schema_json
from termdepth.errors import UserError

ROOT = Path(__file__).parents[2]
GOOD: dict[str, Any] = {
    "datasets": [
        {"name": "tb2", "path": ".", "kind": "human"},
        {"name": "ours", "path": ".", "kind": "ours", "time_limit_minutes": 180,
         "time_limit_minutes_by_segments": {5: 150, 3: 90}},
    ],
    "models": [
        {"id": "a", "litellm": "scripted/merge", "roles": ["first"]},
        {"id": "b", "litellm": "openai/b", "roles": ["second", "evaluated"]},
    ],
}  # fmt: skip


def problems(change: Callable[[dict[str, Any]], object], check_paths: bool = True) -> list[str]:
    data = copy.deepcopy(GOOD)
    change(data)
    with pytest.raises(UserError) as caught:
        parse_config(data, where="my.yaml", check_paths=check_paths)
    return str(caught.value).splitlines()


def setting(*path: str | int, value: Any) -> Callable[[dict[str, Any]], object]:
    def change(data: dict[str, Any]) -> None:
        here: Any = data
        for key in path[:-1]:
            here = here.setdefault(key, {}) if isinstance(key, str) else here[key]
        here[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (setting("modles", value=[]), "my.yaml: modles: unknown key"),
        (setting("datasets", 1, "pathh", value="x"), "my.yaml: datasets[1] (ours).pathh: unknown key"),
        (setting("protocol", "cap", value=[1]), "my.yaml: protocol.cap: unknown key"),
        (setting("models", 0, "prices", value={"input": 1, "output": 1, "x": 1}),
         "my.yaml: models[0] (a).prices.x: unknown key"),
        (lambda d: d.pop("datasets"), "my.yaml: datasets: this key is missing"),
        (lambda d: d["models"][1].pop("litellm"), "my.yaml: models[1] (b).litellm: this key is missing"),
        (setting("datasets", 0, "path", value="/no/such"), "my.yaml: datasets[0] (tb2).path: no such folder: /no/such"),
        (setting("public_results", value=[{"dataset": "tb2", "source": "x", "trials": "no.csv"}]),
         "my.yaml: public_results[0] (tb2).trials: no such file: no.csv"),
        (setting("protocol", "caps", value=[1, 3, 2]), "my.yaml: protocol.caps: caps must increase strictly, not [1, 3, 2]"),
        (setting("protocol", "caps", value=[1, 1]), "my.yaml: protocol.caps: caps must increase strictly, not [1, 1]"),
        (setting("protocol", "caps", value=[0, 1]), "my.yaml: protocol.caps[0]: Input should be greater than 0, not 0"),
        (setting("datasets", 1, "name", value="tb2"), "my.yaml: two datasets of one name: tb2"),
        (setting("models", 1, "id", value="a"), "my.yaml: two models of one name: a"),
        (setting("models", 1, "roles", value=["first"]), "my.yaml: only one model can have the role first, not a, b"),
        (setting("models", 0, "roles", value=["evaluated"]), "my.yaml: one model needs the role first"),
        (setting("datasets", 0, "kind", value="humane"), "datasets[0] (tb2).kind: Input should be 'synthetic', 'human'"),
        (setting("datasets", 0, "name", value="a/../b"), "datasets[0] (a/../b).name: String should match pattern"),
        (setting("models", 0, "id", value=".."), "models[0] (..).id: String should match pattern"),
        (setting("models", 0, "litellm", value="scripted/magic"), "models[0] (a).litellm: "),
        (setting("models", 0, "temperature", value="hot"), "models[0] (a).temperature: Input should be a valid number"),
        (setting("models", 0, "request_timeout_sec", value=0), "request_timeout_sec: Input should be greater than 0, not 0"),
        (setting("datasets", 0, "reserve", value=float("inf")), "datasets[0] (tb2).reserve: Input should be a finite number"),
        (setting("datasets", 0, "time_limit_minutes", value=float("nan")), "time_limit_minutes: Input should be a finite"),
        (setting("datasets", 1, "time_limit_minutes_by_segments", 3, value=-1), "Input should be greater than 0, not -1"),
        (setting("backend", value="podman"), "my.yaml: backend: Input should be 'auto', 'docker' or 'sandbox', not 'podman'"),
        (setting("harness", "max_wait_sec", value=61), "harness.max_wait_sec: Input should be less than or equal to 60"),
        (setting("datasets", value=[]), "my.yaml: datasets: List should have at least 1 item"),
        (setting("datasets", value="x"), "my.yaml: datasets: Input should be a valid list, not 'x'"),
        (setting("datasets", 0, value="x"), "my.yaml: datasets[0]: Input should be a valid dictionary"),
    ],
)  # fmt: skip
def test_one_line_for_a_mistake(change: Callable[[dict[str, Any]], object], line: str) -> None:
    found = problems(change)
    assert len(found) == 1, found
    assert found[0].startswith("my.yaml: ") and line in found[0]
    assert "pydantic" not in found[0] and "Value error" not in found[0]


def test_sample_that_is_neither_all_nor_a_number() -> None:
    found = problems(setting("datasets", 0, "sample", value="some"))
    assert 1 <= len(found) <= 2 and all("datasets[0] (tb2).sample" in line for line in found)


def test_every_mistake_is_told_at_once() -> None:
    def change(data: dict[str, Any]) -> None:
        data["x"] = 1
        data["models"][0]["y"] = 2
        data["protocol"] = {"caps": [2, 1]}

    assert len(problems(change)) == 3


def test_good_config(tmp_path: Path) -> None:
    config = parse_config(GOOD, where="x", check_paths=False)
    assert config.protocol.caps == [1, 2, 3, 5, 10, 20, 40, 80] and config.protocol.turn_limit == 150
    ours = config.dataset("ours")
    assert (ours.time_limit_sec(3), ours.time_limit_sec(5), ours.time_limit_sec(6)) == (5400, 9000, 10800)
    assert config.dataset("tb2").time_limit_sec(1) == 1800
    first, second = config.role("first"), config.role("second")
    assert first is not None and first.scripted and second is not None and not second.scripted
    assert [m.id for m in config.evaluated] == ["b"] and config.model("b") is second
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(GOOD))
    assert load_config(path) == config
    with pytest.raises(ValueError, match="frozen"):
        config.backend = "docker"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "c.yaml: cannot read the config: No such file or directory"),
        (b"a: [1\nb: 2\n", "c.yaml, line 2: not valid YAML: "),
        (b"a: 1\n\tb: 2\n", "c.yaml, line 2: not valid YAML: "),
        (b"datasets: []\nmodels: []\ndatasets: []\n", "c.yaml, line 3: not valid YAML: key 'datasets' twice"),
        (b"", "c.yaml: a config is a mapping with `datasets` and `models`"),
        (b"- a\n", "c.yaml: a config is a mapping"),
        (b"title: caf\xe9\n", "c.yaml: not UTF-8 text: byte 10"),
        (b"a: !!python/object/apply:os.system [true]\n", "c.yaml, line 1: not valid YAML"),
    ],
)
def test_file_that_is_no_config(tmp_path: Path, content: bytes | None, line: str) -> None:
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_config(path)
    assert line in str(caught.value) and "\n" not in str(caught.value)


def test_folder_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the config"):
        load_config(tmp_path)


def test_schema_is_the_generated_one() -> None:
    assert (ROOT / "config/schema.json").read_text() == schema_json(), (
        "run: python -m termdepth.config.load > config/schema.json"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_shipped_configs_are_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    data = yaml.safe_load(path.read_text())
    assert isinstance(parse_config(data, where=path.name, check_paths=path.name == "config.yaml"), Config)
