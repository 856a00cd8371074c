"""Keys never reach a record, a log or a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from termdepth.harness.redact import redact, scrub

KEY = "abcdefgh-0123456789"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN", "A_SECRET", "DB_PASSWORD", "KEY"])
def test_values_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, KEY)
    assert redact(f"GET /v1?k={KEY}&x (key {KEY})") == "GET /v1?k=***&x (key ***)"


def test_other_and_very_short_values_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYBOARD", "querty-layout")
    monkeypatch.setenv("SOME_TOKEN", "no")
    monkeypatch.setenv("EMPTY_KEY", "")
    assert redact("no querty-layout") == "no querty-layout"


def test_longer_values_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret")
    monkeypatch.setenv("B_KEY", "secret-and-more")
    assert redact("x secret-and-more y secret") == "x *** y ***"


@pytest.mark.parametrize(
    "key",
    ["sk-proj-abcDEF123", "sk-***abcd", "sk_live_123456789", "pk-123456789", "gsk_abcdef123456", "hf_abcdef123456",
     "AIzaSyA-1234567", "Bearer eyJhbGciOi.abc=", "xai-abcdef1234", "key-abcdef123"],
)  # fmt: skip
def test_shapes_of_keys(key: str) -> None:
    assert redact(f"Incorrect API key provided: {key}, see the docs") == "Incorrect API key provided: ***, see the docs"


def test_words_that_only_look_alike_stay() -> None:
    text = "the task-specific key was disk-bound, risk-free; a key provided by key holders; ask-again"
    assert redact(text) == text


def test_one_short_line() -> None:
    assert redact("a\n  b\t\r\nc") == "a b c"
    assert len(redact("x" * 999)) == 300 and len(redact("x" * 999, 10)) == 10
    assert KEY[:8] not in redact("y" * 295 + " sk-" + KEY)  # cut after the replacement, not before


def test_scrub_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = KEY + "-long"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("PGPASSWORD", "postgres")  # a word that tasks use
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "trial.log").write_bytes(b"\xff start " + key.encode() + b" end " + key.encode())
    (tmp_path / "pane").write_text("psql -U postgres")
    (tmp_path / "link").symlink_to("/etc/hostname")
    scrub(tmp_path)
    assert (tmp_path / "a" / "trial.log").read_bytes() == b"\xff start *** end ***"
    assert (tmp_path / "pane").read_text() == "psql -U postgres"
