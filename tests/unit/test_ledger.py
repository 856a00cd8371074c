"""The budget over jobs and sessions, and what a stage's spec depends on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from termdepth.config.models import Dataset
from termdepth.errors import UserError
from termdepth.pipeline import spec as specs
from termdepth.pipeline.measure import Ledger, container_identity


def run(fingerprint: str, cost: float | None, turns: int) -> dict[str, Any]:
    return {"fingerprint": fingerprint, "cost_usd": cost, "turns": turns}


def test_budget(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ledger.txt"
    ledger = Ledger(path, 1.0, None)
    ledger.check()
    ledger.add(run("a", 0.6, 3))
    ledger.add(run("b", None, 5))
    ledger.check()
    ledger.add(run("a", 0.6, 3))  # made again after an infrastructure error: paid twice
    for session in (ledger, Ledger(path, 1.0, None)):  # this session, and the next
        with pytest.raises(UserError, match=r"budgets\.cost_usd: the budget is used up: 1\.2 of 1 "):
            session.check()
    Ledger(path, 1.3, 12).check()
    Ledger(path, None, None).check()
    with pytest.raises(UserError, match=r"budgets\.turns: the budget is used up: 11 of 11"):
        Ledger(path, None, 11).check()


def test_lines_of_other_writers_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.txt"
    mine, theirs = Ledger(path, None, 10), Ledger(path, None, 10)
    for _ in range(3):
        mine.add(run("a", 0, 1))
        mine.check()
        theirs.add(run("b", 0, 2))
        theirs.check()
    mine.add(run("a", 0, 1))
    with pytest.raises(UserError, match="10 of 10"):
        theirs.check()


def test_lines_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.txt"
    path.write_bytes(b"a 0.5 1\nrubbish\nb x 1\n\xff\xfe 1 1 1\nc 0.25 2\nhalf 0.")
    with pytest.raises(UserError, match=r"0\.75 of 0\.7"):
        Ledger(path, 0.7, None).check()
    Ledger(path, 0.8, 4).check()


def _add(path: Path, name: str) -> None:
    ledger = Ledger(path, None, None)
    for _ in range(200):
        ledger.add(run(name, 0.001, 1))


def test_writers_at_once_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "ledger.txt"
    workers = [threading.Thread(target=_add, args=(path, n * 40)) for n in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with pytest.raises(UserError, match="600 of 600"):
        Ledger(path, None, 600).check()


def test_what_a_container_is() -> None:
    one = Dataset(name="d", path=Path(), kind="human")
    same = one.model_copy(update={"title": "T", "tasks_per_job": 3})
    other = [one.model_copy(update=c) for c in ({"network": "full"}, {"memory_mb": 9}, {"cpus": 2.0}, {"pids": 9})]
    assert container_identity(one) == container_identity(same)
    assert len({container_identity(d) for d in [one, *other]}) == 5


@pytest.mark.parametrize("stage", specs.STAGE_CODE)
def test_code_of_a_stage_is_there(stage: str) -> None:
    for part in specs.STAGE_CODE[stage]:
        assert (specs.PACKAGE / part).exists(), part
    assert len(specs.code_hash(stage)) == 16


def test_spec_is_sorted_json() -> None:
    assert specs.spec("collect", b=1, a={"d": 1, "c": 2}) == specs.spec("collect", a={"c": 2, "d": 1}, b=1)
    assert specs.spec("collect", a=1) != specs.spec("collect", a=2) != specs.spec("estimate", a=2)


def test_folder_signature(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = specs.folder_signature(tmp_path)
    assert specs.folder_signature(tmp_path) == before
    (tmp_path / "b").symlink_to("/no/such")
    after = specs.folder_signature(tmp_path)
    assert after != before
    (tmp_path / "a").chmod(0o755)
    assert specs.folder_signature(tmp_path) != after
