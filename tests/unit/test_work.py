"""W: every rule of what counts, on scripts in the styles people use, and properties that hold for any script."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import time
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_builders import multi, single
from termdepth.tasks.heredocs import mask, outline
from termdepth.tasks.reading import TaskInfo, read_task
from termdepth.tasks.tokens import count_tokens, token_ids
from termdepth.tasks.work import Work, command_lines, count_work, task_work

# name -> (script, W, plain rule)
CASES: dict[str, tuple[str, int, int]] = {
    "shebang, comments and blank lines": ("#!/bin/bash\n\n# what\n   # indented\necho a  # trailing\n\t\n", 1, 1),
    "nothing": ("", 0, 0),
    "only comments": ("#!/bin/bash\n# nothing to do", 0, 0),
    "no line end at the end": ("echo a\necho b", 2, 2),
    "a # line in a here-document is content": (
        "cat > app.py <<'EOF'\n#!/usr/bin/env python3\n# comment of the file\nprint(1)\nEOF\n# comment of the shell\n",
        5,
        3,
    ),
    "blank lines of content do not count": ("cat > a <<EOF\nx\n\n   \ny\nEOF\n", 4, 4),
    "an interpreter reads it": ("python3 - <<PY\n# c\nprint('it''s')\nPY\n", 4, 3),
    "two on one line": ("cat <<A - <<B\n# a\nA\n# b\nB\n# shell\n", 5, 3),
    "a closing line of the second inside the first": ("cat <<A <<B\nB\n# a\nA\n# b\nB\n", 6, 4),
    "tabs before the closing line": ("if x; then\n\tcat <<-EOF\n\t# c\n\tEOF\n\t# shell\nfi\n", 5, 4),
    "tabs do not close without the dash": ("cat <<EOF\n\tEOF\n# c\nEOF\n", 4, 3),
    "an empty delimiter": ("cat <<''\n# c\nx\n\n# shell\necho b\n", 4, 3),
    "quoted in every way": ('a <<"E F"\n#1\nE F\nb <<\\X\n#2\nX\nc <<\'a\'"b"\n#3\nab\n', 9, 6),
    "a space before the delimiter": ("cat << EOF\n# c\nEOF\n", 3, 2),
    "in a pipeline": ("cat <<EOF | sort |\n# c\nEOF\n  uniq\n# shell\n", 4, 3),
    "with a list behind": ("cat > a <<'EOF' && echo ok || exit 1\n# it's\nEOF\n", 3, 2),
    "the operator's line goes on": ("cat <<EOF \\\n  > out\n# c\nEOF\n", 4, 3),
    "in a command substitution": ("x=\"$(cat <<'EOF'\n# \" ' ` )\nEOF\n)\"\n# shell\n", 4, 3),
    "in backquotes": ("x=`cat <<EOF\n# c\nEOF\n`\n", 4, 3),
    "in process substitutions": ("diff <(cat <<A\n# a\nA\n) <(cat <<B\n# b\nB\n)\n", 7, 5),
    "in a case inside a substitution": ("x=$(case a in\na) cat <<E\n# c\nE\n;;\n# shell\nesac)\n", 6, 5),
    "in a function": ("f() {\n  cat <<EOF\n# c\nEOF\n  # shell\n}\n", 5, 4),
    "into a loop": ("while read -r l; do\n  echo $l\ndone <<'EOF'\n# c\nEOF\n", 5, 4),
    "a numbered descriptor": ("cat 3<<EOF <&3\n# c\nEOF\n", 3, 2),
    "a script that holds a script": ("cat > a.sh <<'OUT'\n#!/bin/bash\ncat <<EOF\n# c\nEOF\nOUT\n# shell\n", 6, 4),
    "a joined line does not close": ("cat <<EOF\na\\\nEOF\n# c\nEOF\n", 5, 4),
    "a quoted one is not joined": ("cat <<'EOF'\na\\\nEOF\n# shell\n", 3, 3),
    "nothing closes it": ("cat > a <<EOF\n# c\nx\n", 3, 2),
    "a here-string is none": ("cat <<< EOF\n# shell\n", 1, 1),
    "shifts are none": ("x=$((1<<2))\n((y=x<<3))\na[1<<2]=3\nlet 'z=1<<4'\n# shell\n2\n", 5, 5),
    "in a comment it is none": ("# use cat <<EOF\necho a # <<EOF\n# shell\nEOF\n", 2, 2),
    "in quotes it is none": ("echo '<<EOF' \"<<EOF\" \\<\\<EOF\n# shell\nEOF\n", 2, 2),
    "a quoted string over lines": ("python3 -c '\n# c\nprint(1)\n'\n# shell\n", 4, 3),
    "a double-quoted string over lines": ('python3 -c "\n# \\"c\\"\nprint(1)\n"\n# shell\n', 4, 3),
    "awk and sed": ("awk '\n  # c\n  { print $1 }' a | sed 's/#.*//'\n", 3, 2),
    "a commit message": ('git commit -m "Fix\n\n# not a comment\n"\n', 3, 2),
    "# after $ and in expansions": ("echo $# ${#a} ${a#b} ${a##*/} ${a/#x/y}\necho a#b\n", 2, 2),
    "a continuation counts line by line": ("apt-get install -y \\\n  curl \\\n  git\n", 3, 3),
    "a comment ends a continuation": ("echo a \\\n  # shell\n", 1, 1),
    "a # that goes on with a word": ("echo a\\\n#b\n", 2, 1),
    "a comment is not continued": ("# a \\\n# b\necho c # d\\\n# e\n", 1, 1),
    "an array with comments": ("a=(\n  # shell\n  b\n)\n", 3, 3),
    "a read-write redirection": ("exec 3<>/dev/tcp/h/80\ncat <<EOF >&3\n# c\nEOF\n", 4, 3),
    "a backslash at the very end": ("cat <<EOF\n# c\nEOF\necho a \\\n", 4, 3),
    "a patch": ("git apply <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-# old\n+# new\n # same\nEOF\n", 8, 7),
    "C": ("gcc -x c - <<C\n#include <stdio.h>\nint main(){return 1<<3;}\nC\n", 4, 3),
    "sudo bash -c": ("sudo bash -c 'cat > /etc/x <<EOF\n# c\nEOF'\n", 3, 2),
    "other shells": ("#!/usr/bin/env -S dash\ncat <<EOF\n# c\nEOF\n", 3, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_what_counts(name: str) -> None:
    script, lines, naive = CASES[name]
    work = count_work(script)
    assert (work.w_lines, work.w_naive_lines, work.fallback) == (lines, naive, None)


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_one_that_bash_accepts(name: str, tmp_path: Path) -> None:
    path = tmp_path / "case.sh"
    path.write_text(CASES[name][0])
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"nothing closes it", "a # that goes on with a word"}))
def test_bash_itself_reads_the_same_lines_as_content(name: str, tmp_path: Path) -> None:
    """Bash prints a function it has read without its comments: lines that then start with # are content.

    Not for what nothing closes (it would swallow the end of the function), nor for a joined word (bash prints one line).
    """
    script, lines, naive = CASES[name]
    path = tmp_path / "case.sh"
    path.write_text("f() {\n:\n" + script.removesuffix("\\\n") + "\n:\n}\n")
    shown = subprocess.run(["bash", "-c", f"source {path}; declare -f f"], capture_output=True, text=True, check=True)
    assert sum(1 for line in shown.stdout.split("\n") if line.lstrip(" \t").startswith("#")) == lines - naive


@pytest.mark.parametrize("name", CASES)
def test_line_ends_and_a_byte_order_mark_do_not_matter(name: str) -> None:
    script = CASES[name][0]
    crlf = ("\ufeff" + script.replace("\n", "\r\n")).encode()
    assert count_work(crlf) == count_work(script) == count_work(script.encode())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("if true; then\ncat <<EOF\n# c\nEOF\n", "syntax error"),
        ("cat <<EOF\n# c\nEOF\necho 'never closed\n", "line 4: a ' is never closed"),
        ('cat <<EOF\n# c\nEOF\necho "never closed\n', 'line 4: a " is never closed'),
        ("cat <<EOF\n# c\nEOF\nx=$(echo a\n", "line 4: no ) closes the substitution"),
        ("cat <<EOF\n# c\nEOF\necho ${a\n", "line 4: a ${ is never closed"),
        ("cat <<EOF\n# c\nEOF\necho )\n", "line 4: syntax error"),
        ("#!/usr/bin/env python3\nx = '''\n# c\n'''\n", "line 1: not a shell script"),
        ("cat <<EOF\n# c\nEOF\n" + "$(" * 5000, "substitutions are nested too deeply"),
    ],
)
def test_what_cannot_be_parsed_falls_back_to_the_plain_rule_and_says_so(script: str, reason: str) -> None:
    work = count_work(script)
    assert work.w_lines == work.w_naive_lines > 0
    assert work.fallback is not None
    assert reason in work.fallback


def test_bytes_that_are_not_text() -> None:
    work = count_work(b"cat > a <<EOF\n# \xff\xfe\x00\nEOF\n")
    assert (work.w_lines, work.w_chars) == (3, 24)


@pytest.mark.parametrize("script", ["#x\n" * 50_000, "echo a\n" * 50_000, "cat <<E\n# x\nE\n" * 5_000, "((" * 50_000])
def test_long_and_odd_scripts_take_seconds_at_most(script: str) -> None:
    start = time.process_time()
    count_work(script)
    assert time.process_time() - start < 10  # measured: below 1 s; quadratic ways took minutes


# --- properties

PLAIN_LINE = st.text(st.characters(codec="ascii", exclude_characters="\n\r\v\f\x1c\x1d\x1e"), max_size=30)
CONTENT = st.lists(PLAIN_LINE, max_size=12)
SCRIPTS = st.lists(
    st.sampled_from([case[0].rstrip("\\\n") + "\n" for case in CASES.values()]), min_size=1, max_size=4
).filter(lambda parts: not any("nothing closes" in part or part.startswith("cat > a <<EOF\n# c\nx") for part in parts))


@settings(max_examples=60, deadline=None)
@given(SCRIPTS, st.sampled_from(["# a comment 'quote\n", "\n", "  \t\n", "#\n", "   # <<EOF\n"]))
def test_a_comment_or_blank_line_between_commands_changes_no_w(parts: list[str], line: str) -> None:
    with_lines = line + line.join(parts) + line
    work, plain = count_work(with_lines), count_work("".join(parts))
    assert (work.w_lines, work.w_naive_lines) == (plain.w_lines, plain.w_naive_lines)
    assert work.fallback is None


@settings(max_examples=150, deadline=None)
@given(CONTENT)
def test_lines_in_a_quoted_here_document_add_themselves_and_two(content: list[str]) -> None:
    content = [line for line in content if line != "END_OF_FILE"]
    script = "echo a\ncat > f <<'END_OF_FILE'\n" + "".join(f"{line}\n" for line in content) + "END_OF_FILE\n# c\n"
    work = count_work(script)
    assert work.fallback is None
    assert work.w_lines == 3 + sum(1 for line in content if line.strip(" \t"))


@settings(max_examples=100, deadline=None)
@given(CONTENT)
def test_a_single_quoted_string_counts_all_of_its_lines(content: list[str]) -> None:
    content = [line.replace("'", "") for line in content]
    work = count_work("python3 -c '\n" + "".join(f"{line}\n" for line in content) + "'\n# c\n")
    assert work.fallback is None
    assert work.w_lines == 2 + sum(1 for line in content if line.strip(" \t"))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab #<>$(){}'\"`\\|&;\n-EOF"), max_size=60))
def test_any_text_is_counted_between_the_plain_rule_and_its_non_blank_lines(text: str) -> None:
    work = count_work(text)
    non_blank = sum(1 for line in text.split("\n") if line.strip())
    assert work.w_naive_lines <= work.w_lines <= non_blank
    assert work.fallback is None or work.w_lines == work.w_naive_lines
    assert work.w_chars == len(text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab #<>$(){}'\"`\\|&;\n-EOF"), max_size=60))
def test_masking_keeps_the_number_of_lines(text: str) -> None:
    try:
        masked = mask(text, outline(text))
    except Exception:
        return
    assert masked.count("\n") == text.count("\n")


# --- tasks


def work_of(folder: Path) -> Work | None:
    task = read_task(folder, folder.parent)
    assert isinstance(task, TaskInfo), task
    return task_work(task)


def test_segments_are_summed(tmp_path: Path) -> None:
    two = "#!/bin/bash\ncat > a <<'EOF'\n# c\nEOF\n"
    work = work_of(multi(tmp_path / "t", 2, {"steps/s2/solution/solve.sh": two}))
    one = count_work(two)
    base = work_of(single(tmp_path / "u"))
    assert work is not None
    assert base is not None
    assert work == Work(
        one.w_lines + base.w_lines,
        one.w_naive_lines + base.w_naive_lines,
        one.w_tokens + base.w_tokens,
        one.w_chars + base.w_chars,
    )


def test_a_segment_without_solution_leaves_w_unknown(tmp_path: Path) -> None:
    assert work_of(multi(tmp_path / "t", 2, {"steps/s2/solution/solve.sh": None})) is None
    assert work_of(single(tmp_path / "u", {"solution/solve.sh": None})) is None


def test_a_script_that_segments_share_counts_once(tmp_path: Path) -> None:
    folder = multi(tmp_path / "t", 2, {"solution/solve.sh": "echo a\necho b\n"})
    for step in ("s1", "s2"):
        (folder / "steps" / step / "solution" / "solve.sh").unlink()
        (folder / "steps" / step / "solution").rmdir()
    work = work_of(folder)
    assert work is not None
    assert work.w_lines == 2


def test_the_segment_that_fell_back_is_named(tmp_path: Path) -> None:
    work = work_of(multi(tmp_path / "t", 2, {"steps/s2/solution/solve.sh": "if true\n"}))
    assert work is not None
    assert work.fallback is not None
    assert work.fallback.startswith("s2: line ")


def test_lines_of_sent_commands_count_also_those_with_a_hash() -> None:
    assert command_lines("cat > a <<EOF\n# c\n\nx\nEOF\r\n\n  \n# shell\n") == 5


# --- tokens


def test_token_ids_are_those_of_tiktoken() -> None:
    # Computed with tiktoken 0.14.0's own encoder on the ranks with the hash below.
    assert token_ids("hello world") == [24912, 2375]
    assert token_ids("tiktoken is great!") == [83, 8251, 2488, 382, 2212, 0]
    script = "#!/bin/bash\nset -euo pipefail\n"
    assert token_ids(script) == [20670, 11893, 42921, 198, 977, 533, 68, 18364, 22906, 37533, 198]


def test_special_tokens_in_a_script_are_plain_text() -> None:
    assert token_ids("<|endoftext|>") == [27, 91, 419, 1440, 919, 91, 29]


def test_the_ranks_are_those_that_tiktoken_downloads() -> None:
    """The hash is the one tiktoken checks its download of o200k_base.tiktoken against."""
    packed = (resources.files("bpe_openai.data") / "o200k_base.tiktoken.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    )


def test_long_texts_count_the_sum_of_their_lines() -> None:
    line = "def function(argument):  # some code\n    return argument\n"
    assert count_tokens(line * 10_000) == 10_000 * count_tokens(line)
    assert count_tokens("\U0001f9ea" * 120_000) > 120_000  # without a place to cut, and beyond the package's limit
