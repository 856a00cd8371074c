"""The calibration tasks (paper, App. B, "Choice of models"), written by a seeded generator: same seed, same bytes.

Every step is one short command on a small text file. What differs between the kinds is when a step can be read:

- parallel: ten independent steps in one file; depth 2 (read, then do all).
- static-chain: ten steps, each on the answer before it, all in one file from the start; depth 2 (one script).
- control-06, control-10: the instruction and data of each step are encrypted with the answer of the step before; depth 7 and
  11 (read step 1; then each turn solves a step and, with the answer still in the shell, opens the next).
- single-script: everything stands in the instruction; depth 1.

The depth of a control task rests on this. Answers are computed (sums, digests, joined words): never a word or line that stands
in the data, nor a small number, so no loop over what is readable and none over all numbers opens the next step. Each step of
a task is another operation with parameters of its own, in one of two wordings, so no batch can be written for a step that was
not read. Nothing in the image but the first step is readable.

Rewrite the bundled tasks with `python -m termdepth.tasks.calibration resources/tasks/calibration`; needs the openssl program.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import hashlib
import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from termdepth.errors import UserError

SEED = 1
VARIANTS = ("a", "b")
DEPTH = {"parallel": 2, "static-chain": 2, "control-06": 7, "control-10": 11, "single-script": 1}
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True)
class Step:
    """One operation on one file. command: what a shell prints the answer with, from the folder of the file."""

    phrase: str
    command: str
    data: str
    answer: str


Rows = list[list[str]]


def _word(rng: Random, length: int = 7) -> str:
    return "".join(rng.choice((_CONSONANTS, _VOWELS)[i % 2]) for i in range(length))


def _words(rng: Random, count: int, length: int = 7) -> list[str]:
    """Distinct words."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[_word(rng, length)] = None
    return list(found)


def _text(rows: Sequence[Sequence[str]]) -> str:
    return "".join(" ".join(row) + "\n" for row in rows)


def _number(rng: Random) -> int:
    return rng.randrange(10**10, 10**11)


def _numbered(rng: Random, count: int = 12) -> Rows:
    """Rows of a word and two large numbers; all numbers differ."""
    numbers = rng.sample(range(10**10, 10**11), 2 * count)
    return [[word, str(numbers[2 * i]), str(numbers[2 * i + 1])] for i, word in enumerate(_words(rng, count))]


# -- operations that stand alone: (random numbers, file name) -> Step ------------------------------------------------


def _sum(rng: Random, f: str) -> Step:
    rows, c = _numbered(rng), rng.choice((2, 3))
    wording = (f"Add up the numbers in column {c} of {f}.", f"What is the total of column {c} of {f}?")
    command = f"echo $(($(cut -d' ' -f{c} {f} | paste -sd+)))"
    return Step(rng.choice(wording), command, _text(rows), str(sum(int(row[c - 1]) for row in rows)))


def _spelt(rng: Random, f: str) -> Step:
    lines = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(9)) for _ in range(18)]
    p = rng.randrange(2, 9)
    wording = (
        f"Join character {p} of every line of {f}, from top to bottom.",
        f"Read {f} downwards: what does character {p} of its lines spell?",
    )
    command = f"cut -c{p} {f} | tr -d '\\n'"
    return Step(rng.choice(wording), command, _text([[ln] for ln in lines]), "".join(ln[p - 1] for ln in lines))


def _line_digest(rng: Random, f: str) -> Step:
    rows = [_words(rng, 3) for _ in range(16)]
    n = rng.randrange(3, 15)
    wording = (
        f"Take the SHA-256 of line {n} of {f} without its newline and keep the first 16 digits.",
        f"Hash line {n} of {f} with SHA-256, its newline left out; the first 16 hex digits are the answer.",
    )
    command = f"sed -n {n}p {f} | tr -d '\\n' | sha256sum | cut -c1-16"
    return Step(
        rng.choice(wording), command, _text(rows), hashlib.sha256(" ".join(rows[n - 1]).encode()).hexdigest()[:16]
    )


def _last_words(rng: Random, f: str) -> Step:
    words = _words(rng, 64)
    mark, others = words[0], words[1:]
    rows = [others[4 * i : 4 * i + 4] for i in range(14)]
    for i in rng.sample(range(14), 4):
        rows[i][rng.randrange(3)] = mark
    wording = (
        f"Join with - the last words of the lines of {f} that contain {mark}.",
        f"Which lines of {f} contain {mark}? Join their last words with -, in order.",
    )
    command = f"grep -w {mark} {f} | awk '{{print $NF}}' | paste -sd-"
    return Step(rng.choice(wording), command, _text(rows), "-".join(row[-1] for row in rows if mark in row))


def _smallest(rng: Random, f: str) -> Step:
    rows, c, k = _numbered(rng, 14), rng.choice((2, 3)), rng.choice((3, 4, 5))
    wording = (
        f"Sort {f} by the number in column {c} and join the words of the first {k} lines with +.",
        f"Join with + the words beside the {k} smallest numbers in column {c} of {f}, smallest first.",
    )
    command = f"sort -n -k{c},{c} {f} | head -n {k} | cut -d' ' -f1 | paste -sd+"
    chosen = sorted(rows, key=lambda row: int(row[c - 1]))[:k]
    return Step(rng.choice(wording), command, _text(rows), "+".join(row[0] for row in chosen))


def _backwards(rng: Random, f: str) -> Step:
    rows = [_words(rng, 3) for _ in range(16)]
    n = rng.randrange(3, 15)
    wording = (
        f"Write line {n} of {f} backwards, without its spaces.",
        f"Reverse line {n} of {f} letter by letter and leave out the spaces.",
    )
    return Step(rng.choice(wording), f"sed -n {n}p {f} | rev | tr -d ' '", _text(rows), "".join(rows[n - 1])[::-1])


def _base64(rng: Random, f: str) -> Step:
    lines = ["-".join(_words(rng, 3)) for _ in range(14)]
    n = rng.randrange(3, 13)
    wording = (f"Line {n} of {f} is base64. What does it say?", f"Decode line {n} of {f} from base64.")
    data = _text([[base64.b64encode(ln.encode()).decode()] for ln in lines])
    return Step(rng.choice(wording), f"sed -n {n}p {f} | base64 -d", data, lines[n - 1])


def _hex_sum(rng: Random, f: str) -> Step:
    rows = [(word, f"{_number(rng):x}") for word in _words(rng, 12)]
    wording = (
        f"Column 2 of {f} is hexadecimal. Give the sum of its numbers in decimal.",
        f"Add the hexadecimal numbers in column 2 of {f} and answer in decimal.",
    )
    command = f"echo $(($(sed 's/.* /0x/' {f} | paste -sd+)))"
    return Step(rng.choice(wording), command, _text(rows), str(sum(int(row[1], 16) for row in rows)))


def _every_nth(rng: Random, f: str) -> Step:
    rows, k = [_words(rng, 3) for _ in range(18)], rng.choice((3, 4, 5))
    wording = (
        f"Of lines {k}, {2 * k}, {3 * k} and so on of {f}, join the second words with :.",
        f"Take each line of {f} whose number divides by {k} and join their second words with :.",
    )
    command = f"awk 'NR % {k} == 0 {{print $2}}' {f} | paste -sd:"
    return Step(rng.choice(wording), command, _text(rows), ":".join(row[1] for row in rows[k - 1 :: k]))


def _only_once(rng: Random, f: str) -> Step:
    words = _words(rng, 11)
    lines = words + words[4:] + words[7:]
    rng.shuffle(lines)
    wording = (
        f"Join with , the lines that occur exactly once in {f}, in alphabetical order.",
        f"Which lines stand only once in {f}? Sort them and join them with ,.",
    )
    return Step(
        rng.choice(wording),
        f"sort {f} | uniq -u | paste -sd,",
        _text([[ln] for ln in lines]),
        ",".join(sorted(words[:4])),
    )


def _starting(rng: Random, f: str) -> Step:
    x = rng.choice(_CONSONANTS)
    words = [w for w in _words(rng, 24) if w[0] != x]
    words += [x + w[1:] for w in _words(rng, 4)]
    words = list(dict.fromkeys(words))
    rng.shuffle(words)
    wording = (
        f"Sort the lines of {f} that start with {x} and join them with a full stop.",
        f"Join with a full stop the lines of {f} that begin with the letter {x}, sorted.",
    )
    chosen = sorted(w for w in words if w[0] == x)
    return Step(
        rng.choice(wording), f"grep ^{x} {f} | sort | paste -sd.", _text([[w] for w in words]), ".".join(chosen)
    )


def _range(rng: Random, f: str) -> Step:
    rows = _numbered(rng)
    wording = (
        f"Subtract the smallest number in column 3 of {f} from the largest in column 2.",
        f"How much larger is the largest number in column 2 of {f} than the smallest in column 3?",
    )
    command = f"echo $(($(cut -d' ' -f2 {f} | sort -n | tail -n 1) - $(cut -d' ' -f3 {f} | sort -n | head -n 1)))"
    answer = max(int(row[1]) for row in rows) - min(int(row[2]) for row in rows)
    return Step(rng.choice(wording), command, _text(rows), str(answer))


def _rot13(rng: Random, f: str) -> Step:
    lines = ["-".join(_words(rng, 3)) for _ in range(14)]
    n = rng.randrange(3, 13)
    wording = (f"Undo ROT13 on line {n} of {f}.", f"Line {n} of {f} is in ROT13. What does it say?")
    data = _text([[codecs.encode(ln, "rot13")] for ln in lines])
    return Step(rng.choice(wording), f"sed -n {n}p {f} | tr a-z n-za-m", data, lines[n - 1])


def _keys(rng: Random, f: str) -> Step:
    words = _words(rng, 28)
    pairs = list(zip(words[:14], words[14:], strict=True))
    (a, va), (b, vb) = rng.sample(pairs, 2)
    wording = (
        f"Join the values of {a} and {b} in {f} with _.",
        f"Look up {a} and then {b} in {f} and join the two values with _.",
    )
    command = f'echo "$(sed -n s/^{a}=//p {f})_$(sed -n s/^{b}=//p {f})"'
    return Step(rng.choice(wording), command, _text([[f"{k}={v}"] for k, v in pairs]), f"{va}_{vb}")


def _product(rng: Random, f: str) -> Step:
    rows = [[word, str(rng.randrange(10**8, 10**9)), str(rng.randrange(10**8, 10**9))] for word in _words(rng, 12)]
    word, x, y = rng.choice(rows)
    wording = (
        f"Multiply the two numbers on the line of {word} in {f}.",
        f"What is the product of the two numbers beside {word} in {f}?",
    )
    command = f"echo $(($(awk '/^{word} / {{print $2 \"*\" $3}}' {f})))"
    return Step(rng.choice(wording), command, _text(rows), str(int(x) * int(y)))


OPERATIONS: tuple[Callable[[Random, str], Step], ...] = (
    _sum,
    _spelt,
    _line_digest,
    _last_words,
    _smallest,
    _backwards,
    _base64,
    _hex_sum,
    _every_nth,
    _only_once,
    _starting,
    _range,
    _rot13,
    _keys,
    _product,
)


# -- operations on the answer before: (random numbers, file name, answer before, its number) -> Step -------------------


def _first_word(rng: Random, f: str) -> Step:
    rows = [_words(rng, 4, 9) for _ in range(16)]
    n, c = rng.randrange(3, 15), rng.randrange(2, 5)
    command = f"sed -n {n}p {f} | cut -d' ' -f{c}"
    return Step(f"Take word {c} of line {n} of {f}.", command, _text(rows), rows[n - 1][c - 1])


def _look_up(rng: Random, f: str, before: str, p: int) -> Step:
    rows = [_words(rng, 4, 9) for _ in range(16)]
    n, c = rng.randrange(16), rng.randrange(2, 5)
    rows[n][0] = before
    command = f"grep \"^$answer \" {f} | cut -d' ' -f{c}"
    return Step(
        f"Find the line of {f} that starts with the answer of step {p}; take its word {c}.",
        command,
        _text(rows),
        rows[n][c - 1],
    )


def _line_after(rng: Random, f: str, before: str, p: int) -> Step:
    lines = _words(rng, 20, 9)
    n = rng.randrange(19)
    lines[n] = before
    command = f'grep -x -A1 "$answer" {f} | tail -n 1'
    return Step(
        f"Find the answer of step {p} in {f}; take the line after it.",
        command,
        _text([[ln] for ln in lines]),
        lines[n + 1],
    )


def _reversed(rng: Random, f: str, before: str, p: int) -> Step:
    return Step(f"Write the answer of step {p} backwards.", 'rev <<< "$answer"', "", before[::-1])


def _digest(rng: Random, f: str, before: str, p: int) -> Step:
    k = rng.randrange(12, 17)
    command = f'printf %s "$answer" | sha256sum | cut -c1-{k}'
    phrase = f"Take the SHA-256 of the answer of step {p}, without a newline; keep the first {k} digits."
    return Step(phrase, command, "", hashlib.sha256(before.encode()).hexdigest()[:k])


def _rotated(rng: Random, f: str, before: str, p: int) -> Step:
    return Step(
        f"Apply ROT13 to the answer of step {p}.", 'tr a-z n-za-m <<< "$answer"', "", codecs.encode(before, "rot13")
    )


def _appended(rng: Random, f: str, before: str, p: int) -> Step:
    rows = [_words(rng, 4, 9) for _ in range(16)]
    n, c = rng.randrange(3, 15), rng.randrange(2, 5)
    command = f"echo \"$answer$(sed -n {n}p {f} | cut -d' ' -f{c})\""
    return Step(
        f"Append word {c} of line {n} of {f} to the answer of step {p}.",
        command,
        _text(rows),
        before + rows[n - 1][c - 1],
    )


def _no_vowels(rng: Random, f: str, before: str, p: int) -> Step:
    answer = "".join(x for x in before if x not in _VOWELS)
    return Step(f"Leave out the vowels of the answer of step {p}.", 'tr -d aeiou <<< "$answer"', "", answer)


def _alternate(rng: Random, f: str, before: str, p: int) -> Step:
    command = "sed 's/\\(.\\)./\\1/g' <<< \"$answer\""
    return Step(f"Keep characters 1, 3, 5 and so on of the answer of step {p}.", command, "", before[::2])


def _moved(rng: Random, f: str, before: str, p: int) -> Step:
    k = rng.choice((2, 3, 4))
    command = f'echo "${{answer:{k}}}${{answer:0:{k}}}"'
    return Step(
        f"Move the first {k} characters of the answer of step {p} to its end.", command, "", before[k:] + before[:k]
    )


CHAINED: tuple[Callable[[Random, str, str, int], Step], ...] = (
    _look_up,
    _line_after,
    _reversed,
    _digest,
    _rotated,
    _appended,
    _no_vowels,
    _alternate,
    _moved,
)


def _chain(rng: Random, length: int) -> list[Step]:
    """Steps that each use the answer before; drawn again until every answer has at least six characters."""
    while True:
        order = rng.sample(CHAINED, length - 1)
        steps = [_first_word(rng, _data_name(1))]
        for number, operation in enumerate(order, start=2):
            steps.append(operation(rng, _data_name(number), steps[-1].answer, number - 1))
        if all(len(step.answer) >= 6 for step in steps):
            return steps


def _independent(rng: Random, length: int) -> list[Step]:
    return [operation(rng, _data_name(i)) for i, operation in enumerate(rng.sample(OPERATIONS, length), start=1)]


# -- files -------------------------------------------------------------------------------------------------------------


def _data_name(number: int) -> str:
    return f"data-{number:02}.txt"


def _listed(steps: Sequence[Step]) -> str:
    return "".join(f"Step {i}: {step.phrase}\n" for i, step in enumerate(steps, start=1))


def encrypt(plain: bytes, password: str, salt: bytes) -> bytes:
    """What `openssl enc -aes-256-cbc -pbkdf2` writes with this salt (8 bytes).

    The key is derived here, because the program does not write the salt it is given into its output.
    """
    derived = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 10_000, 48)
    command = ["openssl", "enc", "-aes-256-cbc", "-K", derived[:32].hex(), "-iv", derived[32:].hex()]
    try:
        done = subprocess.run(command, input=plain, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise UserError("the calibration tasks need the openssl program", hint="install openssl") from error
    return b"Salted__" + salt + done.stdout


def _archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


_DOCKERFILE = """\
FROM debian:bookworm-slim
{openssl}WORKDIR /app
{copy}"""
_OPENSSL = """\
RUN command -v openssl > /dev/null || (apt-get update && apt-get install -y --no-install-recommends openssl)
"""
_TEST = """\
#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
{body}
echo "$reward" > /logs/verifier/reward.txt
"""
_GIVEN = """\
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}
"""


@dataclass(frozen=True)
class TaskFiles:
    """A task before it is written: relative path -> content. Scripts (.sh) become executable."""

    name: str
    files: dict[str, bytes]


def _task(
    kind: str, variant: str, instruction: str, image: dict[str, bytes], solution: str, tests: dict[str, str]
) -> TaskFiles:
    about = {
        "parallel": ("easy", "Ten independent steps, listed in one file."),
        "static-chain": ("easy", "Ten steps, each on the answer before it, all in one file."),
        "control-06": ("medium", "Six steps, each encrypted with the answer of the one before."),
        "control-10": ("hard", "Ten steps, each encrypted with the answer of the one before."),
        "single-script": ("easy", "Files to write that the instruction describes completely."),
    }
    difficulty, description = about[kind]
    toml = f"""\
schema_version = "1.4"

[task]
name = "termdepth/{kind}-{variant}"
description = "{description}"

[metadata]
category = "calibration"
kind = "{kind}"
difficulty = "{difficulty}"
tags = ["calibration", "text"]
known_depth = {DEPTH[kind]}

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 60.0

[environment]
network_mode = "no-network"
workdir = "/app"
"""
    dockerfile = _DOCKERFILE.format(
        openssl=_OPENSSL if kind.startswith("control") else "", copy="COPY files/ /app/\n" if image else ""
    )
    files = {
        "task.toml": toml.encode(),
        "instruction.md": instruction.encode(),
        "environment/Dockerfile": dockerfile.encode(),
        "solution/solve.sh": solution.encode(),
        **{f"environment/files/{path}": content for path, content in image.items()},
        **{f"tests/{path}": text.encode() for path, text in tests.items()},
    }
    return TaskFiles(f"{kind}-{variant}", files)


def _data_files(steps: Sequence[Step]) -> dict[str, str]:
    return {_data_name(i): step.data for i, step in enumerate(steps, start=1) if step.data}


def _parallel(rng: Random, variant: str) -> TaskFiles:
    steps = _independent(rng, 10)
    instruction = """\
# Ten independent steps

/app/steps.txt lists ten steps. Each works on a file in /app and has one answer; none needs the answer of another. Write the
answer of step N to /app/answers/N.txt, with N in two digits: /app/answers/01.txt to /app/answers/10.txt.
"""
    solution = [
        "#!/bin/bash",
        "# Ten answers, each with one command.",
        "set -euo pipefail",
        "cd /app",
        "mkdir -p answers",
    ]
    checks = [_GIVEN, "right=0"]
    for i, step in enumerate(steps, start=1):
        solution += ["", f"# Step {i}: {step.phrase}", f"{step.command} > answers/{i:02}.txt"]
        checks += [
            f"# {step.phrase}",
            f"expected=$({step.command})",
            f'[ -n "$expected" ] && [ "$(given /app/answers/{i:02}.txt)" = "$expected" ] && right=$((right + 1))',
        ]
    checks += ['echo "$right of 10 answers are right"', '[ "$right" = 10 ] && reward=1']
    data = _data_files(steps)
    image = {"steps.txt": _listed(steps).encode(), **{k: v.encode() for k, v in data.items()}}
    tests = {"test.sh": _TEST.format(body="\n".join(checks)), **data}
    return _task("parallel", variant, instruction, image, "\n".join(solution) + "\n", tests)


def _static_chain(rng: Random, variant: str) -> TaskFiles:
    steps = _chain(rng, 10)
    instruction = """\
# A chain of ten steps in one file

/app/steps.txt lists ten steps. Each needs the answer of the one before; the files they name are in /app. Write the answer of
step 10 to /app/answer.txt.
"""
    chain = [
        line for i, step in enumerate(steps, 1) for line in (f"# Step {i}: {step.phrase}", f"answer=$({step.command})")
    ]
    solution = ["#!/bin/bash", "# Each answer goes into the next command.", "set -euo pipefail", "cd /app", *chain]
    solution += ['echo "$answer" > answer.txt']
    checks = [_GIVEN, *chain, '[ -n "$answer" ] && [ "$(given /app/answer.txt)" = "$answer" ] && reward=1']
    data = _data_files(steps)
    image = {"steps.txt": _listed(steps).encode(), **{k: v.encode() for k, v in data.items()}}
    tests = {"test.sh": _TEST.format(body="\n".join(checks)), **data}
    return _task("static-chain", variant, instruction, image, "\n".join(solution) + "\n", tests)


def _control(rng: Random, variant: str, length: int) -> TaskFiles:
    steps = _independent(rng, length)
    kind = f"control-{length:02}"
    instruction = f"""\
# A chain of {length} steps, one readable at a time

There are {length} steps. /app/step-01.txt says what to do in the first one.

Each step is encrypted with the answer of the one before. With the answer of step 1, this unpacks step-02.txt, which says
what step 2 is, and the data it works on:

    openssl enc -d -aes-256-cbc -pbkdf2 -in step-02.enc -pass pass:ANSWER | tar x

and so on with the later ones. An answer has no newline at its end. Write the answer of step {length} to /app/answer.txt.
"""
    image: dict[str, bytes] = {}
    solution = ["#!/bin/bash", "# Each answer is the password of the next step.", "set -euo pipefail", "cd /app", ""]
    for i, step in enumerate(steps, start=1):
        readable = {f"step-{i:02}.txt": f"Step {i}: {step.phrase}\n", _data_name(i): step.data}
        if i == 1:
            image |= {name: text.encode() for name, text in readable.items()}
        else:
            salt = rng.getrandbits(64).to_bytes(8, "big")
            image[f"step-{i:02}.enc"] = encrypt(_archive(readable), steps[i - 2].answer, salt)
            solution += [f'openssl enc -d -aes-256-cbc -pbkdf2 -in step-{i:02}.enc -pass "pass:$answer" | tar x', ""]
        solution += [f"# Step {i}: {step.phrase}", f"answer=$({step.command})"]
    solution += ['echo "$answer" > answer.txt']
    last = steps[-1]
    checks = [
        _GIVEN,
        f"# {last.phrase}",
        f"expected=$({last.command})",
        '[ -n "$expected" ] && [ "$(given /app/answer.txt)" = "$expected" ] && reward=1',
    ]
    tests = {"test.sh": _TEST.format(body="\n".join(checks)), _data_name(length): last.data}
    return _task(kind, variant, instruction, image, "\n".join(solution) + "\n", tests)


def _single_script(rng: Random, variant: str) -> TaskFiles:
    n, m, powers, items = rng.randrange(20, 90), rng.randrange(6, 20), rng.randrange(12, 40), rng.randrange(8, 30)
    limit = m * rng.randrange(20, 60) + rng.randrange(m)
    start = _word(rng)
    instruction = f"""\
# Files that need no reading

Make these files in /app/out. Nothing has to be looked up for them.

- squares.csv: the header `n,square`, then a line for every n from 1 to {n}.
- multiples.txt: the multiples of {m} from {m} to at most {limit}, one per line.
- total.txt: the sum of these multiples.
- powers.txt: 2 to the power of k for every k from 0 to {powers}, one per line.
- names.txt: the names {start}-01 to {start}-{items:02}, one per line.
- digest.txt: the SHA-256 of names.txt, the 64 digits only.
- SHA256SUMS: what sha256sum prints, run in /app/out, for squares.csv, multiples.txt and powers.txt, in this order.
- numbers.tar.gz: a compressed tar archive with squares.csv and powers.txt at its top level.
"""
    made = [
        f"# A line for every n from 1 to {n}",
        f'(echo n,square; for n in $(seq {n}); do echo "$n,$((n * n))"; done) > squares.csv',
        f"# Multiples of {m} up to {limit}, and their sum",
        f"seq {m} {m} {limit} > multiples.txt",
        "echo $(($(paste -sd+ multiples.txt))) > total.txt",
        f"# Powers of two up to 2^{powers}",
        f"for k in $(seq 0 {powers}); do echo $((2 ** k)); done > powers.txt",
        f"# {items} numbered names and their digest",
        f"printf '{start}-%02d\\n' $(seq {items}) > names.txt",
        "sha256sum < names.txt | cut -c1-64 > digest.txt",
        "sha256sum squares.csv multiples.txt powers.txt > SHA256SUMS",
    ]
    solution = [
        "#!/bin/bash",
        "# Writes everything the instruction describes.",
        "set -euo pipefail",
        "mkdir -p /app/out",
        "cd /app/out",
    ]
    solution += [*made, "# Pack the numbers", "tar czf numbers.tar.gz squares.csv powers.txt"]
    checks = [
        'cd "$(mktemp -d)" || exit 1',
        *made,
        "right=0",
        'file() { [ -f "$1" ] && [ ! -L "$1" ]; }  # not followed: links, pipes, devices',
        "for name in squares.csv multiples.txt total.txt powers.txt names.txt digest.txt SHA256SUMS; do",
        '  file "/app/out/$name" && cmp "$name" "/app/out/$name" && right=$((right + 1))',
        "done",
        "packed=/app/out/numbers.tar.gz",
        "for name in squares.csv powers.txt; do",
        '  file $packed && tar xzOf $packed "$name" "./$name" 2> /dev/null | cmp - "$name" && right=$((right + 1))',
        "done",
        'echo "$right of 9 are right"',
        '[ "$right" = 9 ] && reward=1',
    ]
    tests = {"test.sh": _TEST.format(body="\n".join(checks))}
    return _task("single-script", variant, instruction, {}, "\n".join(solution) + "\n", tests)


def generate(seed: int = SEED) -> Iterator[TaskFiles]:
    """All calibration tasks, two variants of each kind. The random numbers of a task depend on seed and name only."""
    for variant in VARIANTS:
        yield _parallel(Random(f"{seed}/parallel-{variant}"), variant)
        yield _static_chain(Random(f"{seed}/static-chain-{variant}"), variant)
        yield _control(Random(f"{seed}/control-06-{variant}"), variant, 6)
        yield _control(Random(f"{seed}/control-10-{variant}"), variant, 10)
        yield _single_script(Random(f"{seed}/single-script-{variant}"), variant)


def write(tasks: Sequence[TaskFiles], folder: Path) -> None:
    """Write each task to `folder/NAME`, replacing what is there under that name."""
    for task in tasks:
        shutil.rmtree(folder / task.name, ignore_errors=True)
        for path, content in task.files.items():
            target = folder / task.name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if target.suffix == ".sh" else 0o644)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write the calibration tasks.")
    parser.add_argument("folder", type=Path, help="where the task folders go")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    tasks = list(generate(options.seed))
    try:
        write(tasks, options.folder)
    except OSError as error:
        raise UserError(error.strerror or str(error), where=options.folder) from error
    print(f"{len(tasks)} tasks in {options.folder}: {', '.join(task.name for task in tasks)}")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(f"error: {error}") from error
