"""Names that an instruction states for its checks (Table 9)."""

from pathlib import Path

from termdepth.tasks.names import names_in, stated_names
from termdepth.tasks.reading import Segment


def segment(folder: Path, instruction: str, checks: str | None, **others: str) -> Segment:
    (folder / "tests").mkdir()
    (folder / "instruction.md").write_text(instruction)
    for name, text in {"test.sh": checks or "", **others}.items():
        (folder / "tests" / name).write_text(text)
    return Segment("s", folder / "instruction.md", 0, None, folder / "tests/test.sh" if checks is not None else None)


def test_what_looks_like_a_name() -> None:
    text = """Serve /srv/www/ (not "/srv/old.d/x") on port 8443, e.g. as `backup`, write ~/report.csv and total_kwh.

Run `make -j2 all`. It was 12 in 1.25 days; read-only is no name.

```
name: value_1
```
"""
    assert names_in(text) == {
        "/srv/www", "/srv/old.d/x", "8443", "backup", "~/report.csv", "total_kwh", "make", "all", "name", "value_1",
        "e.g",  # looks like a file name; a check that holds it verbatim is what makes it one
    }  # fmt: skip


def test_only_names_that_the_checks_hold_whole(tmp_path: Path) -> None:
    found = stated_names(
        segment(
            tmp_path,
            "Make /srv/app and /srv/data.txt, owned by `anna`, on port 8443, with `mode` and /srv/link.",
            "expect_file a /srv/application\nexpect_eq b $(stat -c %U /srv/data.txt) anna\nexpect_port c localhost 84430",
            **{"test_more.py": "assert open('/srv/app/x')", "checks.sh": "mode", "notes.md": "8443"},
        )
    )
    assert found == {"/srv/app", "/srv/data.txt", "anna"}


def test_links_in_the_tests_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "outside.sh").write_text("anna")
    (tmp_path / "task").mkdir()
    made = segment(tmp_path / "task", "`anna`", "")
    (tmp_path / "task/tests/link.sh").symlink_to(tmp_path / "outside.sh")
    assert stated_names(made) == set()


def test_unknown_without_tests_of_its_own(tmp_path: Path) -> None:
    assert stated_names(segment(tmp_path, "`anna`", None)) is None
