"""Reading Dockerfiles: instructions, variables, base images, and the sandbox's subset."""

from __future__ import annotations

import pytest

from termdepth.environments.dockerfile import DOCKER_HUB, expand, instructions, replace_base_images, substitute, words
from termdepth.environments.sandbox.dockerfile import Copy, Run, Workdir, parse
from termdepth.errors import UserError


def read(text: str) -> list[tuple[str, str, int, int]]:
    return [(i.op, i.rest, i.line, i.last) for i in instructions(text)]


def test_instructions_with_continuations_comments_and_blank_lines() -> None:
    text = "# c\nFROM a\n\nRUN one \\\n  # inside\n\n  && two\nrun\tthree\nRUN four \\"
    assert read(text) == [
        ("FROM", "a", 2, 2),
        ("RUN", "one   && two", 4, 7),
        ("RUN", "three", 8, 8),
        ("RUN", "four", 9, 9),
    ]


def test_windows_line_ends_and_byte_order_mark() -> None:
    assert read("\ufeffFROM a\r\nRUN b \\\r\n  c\r\n") == [("FROM", "a", 1, 1), ("RUN", "b   c", 2, 3)]


def test_other_escape_character() -> None:
    assert read("# syntax=x\n# escape=`\nFROM a\nRUN b `\nc\\\n") == [("FROM", "a", 3, 3), ("RUN", "b c\\", 4, 5)]


def test_here_documents_belong_to_their_instruction() -> None:
    text = "FROM a\nRUN <<EOF cat <<'B' > x\nFROM no\nEOF\nFROM neither\nB\nCOPY <<-E /x\nCOPY y\n\tE\nRUN z"
    assert read(text)[1:] == [("RUN", "<<EOF cat <<'B' > x", 2, 6), ("COPY", "<<-E /x", 7, 9), ("RUN", "z", 10, 10)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  b", ["a", "b"]),
        ('"a b" c', ["a b", "c"]),
        ("'$A' \"$A\" $A", ["$A", "x y", "x y"]),
        ("${A}z ${N:-alt} ${A:-alt} ${A:+yes} ${N:+no}e", ["x yz", "alt", "x y", "yes", "e"]),
        ("${N:-$A} $ $1x", ["x y", "$", "x"]),
        (r"a\ b \$A '\$' \\", ["a b", "$A", r"\$", "\\"]),
        ("''", [""]),
        ("", []),
        ("${broken", ["${broken"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text, {"A": "x y", "1x": "x"}) == expected


def test_expand_keeps_blanks() -> None:
    assert expand('a  $A "b  c"', {"A": "1"}) == "a  1 b  c"


def test_base_images_are_replaced_and_listed() -> None:
    text = (
        "ARG V=24.04\nFROM --platform=linux/amd64 ubuntu:${V} AS build\nRUN x\nFROM scratch\nFROM Build as two\n"
        "COPY --from=build /a /b\nCOPY --chown=0 --from=ghcr.io/uv /uv /bin/\nCOPY --from=0 /c /d\nFROM python\n"
    )
    mapping = {"ubuntu:24.04": "local/u:1", "ghcr.io/uv": "local/uv", "python:latest": "local/p"}
    new, images = replace_base_images(text, mapping, "D")
    assert images == ["local/u:1", "local/uv", "local/p"]
    lines = new.splitlines()
    assert lines[1] == "FROM --platform=linux/amd64 local/u:1 AS build"
    assert lines[3:6] == ["FROM scratch", "FROM Build AS two", "COPY --from=build /a /b"]
    assert lines[6:] == ["COPY --chown=0 --from=local/uv /uv /bin/", "COPY --from=0 /c /d", "FROM local/p"]


def test_replacing_keeps_line_numbers_and_the_rest() -> None:
    text = "FROM \\\n a \\\n AS b\nRUN x \\\n  y\n"
    assert replace_base_images(text, {"a": "c"}, "D")[0] == "FROM c AS b\n\n\nRUN x \\\n  y\n"


@pytest.mark.parametrize(("text", "where"), [("RUN x\n", "D: no FROM"), ("FROM\n", "D:1: FROM cannot be read")])
def test_unreadable_from(text: str, where: str) -> None:
    with pytest.raises(UserError, match=where):
        replace_base_images(text, {}, "D")


def test_recipe() -> None:
    text = """FROM debian
ARG V=1
ARG GIVEN
ENV A=a B="b $V" C='$V'
ENV OLD style  value
WORKDIR /w
WORKDIR sub
COPY --chown=u:g --chmod=0640 --link x "y z" dir/
COPY ["q r", "."]
RUN echo $A
RUN ["/bin/true", "$A"]
SHELL ["/bin/bash", "-c"]
RUN echo two
ENTRYPOINT ["x"]
USER nobody
"""
    recipe = parse(text, "D")
    env = {"A": "a", "B": "b 1", "C": "$V", "OLD": "style  value"}
    assert recipe.env == env and recipe.workdir == "/w/sub"
    known = {"V": "1", "GIVEN": "", **env}
    assert recipe.steps == (
        Workdir("/w"),
        Workdir("/w/sub"),
        Copy(("x", "y z"), "/w/sub/dir/", "u:g", 0o640, 8),
        Copy(("q r",), "/w/sub/", None, None, 9),
        Run(("/bin/sh", "-c", "echo $A"), "/w/sub", known, 10),
        Run(("/bin/true", "$A"), "/w/sub", known, 11),
        Run(("/bin/bash", "-c", "echo two"), "/w/sub", known, 13),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ADD a b", "ADD is not supported"),
        ("RUN --mount=type=cache x", "RUN --mount=type=cache is not supported"),
        ("RUN <<E\nx\nE", "a here-document is not supported"),
        ("COPY <<E /x\nx\nE", "a here-document is not supported"),
        ("COPY --from=x a b", "COPY --from is not supported"),
        ("COPY --chmod=u+x a b", r"COPY --chmod=u\+x is not supported"),
        ("FROM b", "multi-stage"),
        ("ONBUILD RUN x", "ONBUILD is not supported"),
        ("COPY a", "COPY needs a source and a target"),
        ('COPY ["a", 1]', "needs a JSON list"),
        ("ENV A", "ENV needs NAME=VALUE"),
        ("FOO", "FOO is not supported"),
    ],
)
def test_refused_by_file_and_line(line: str, message: str) -> None:
    with pytest.raises(UserError, match=f"^some/Dockerfile:3: .*{message}"):
        parse(f"FROM a\n\n{line}\n", "some/Dockerfile")


def test_dockerfile_without_from() -> None:
    with pytest.raises(UserError, match="no FROM"):
        parse("RUN x\n", "D")


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("ubuntu:24.04", "mirror:5000/hub/library/ubuntu:24.04"),
        ("docker.io/ubuntu", "mirror:5000/hub/library/ubuntu"),
        ("docker.io/library/ubuntu", "mirror:5000/hub/library/ubuntu"),
        ("python@sha256:ab", "mirror:5000/hub/library/python@sha256:ab"),
        ("org/app:1", "mirror:5000/hub/org/app:1"),
        ("ghcr.io/org/app:1", "ghcr.io/org/app:1"),
        ("localhost/app", "localhost/app"),
        ("registry:5000/app", "registry:5000/app"),
        ("debian:12", "mine:1"),
    ],
)
def test_a_mirror_stands_for_docker_hub_only(image: str, found: str) -> None:
    mapping = {DOCKER_HUB: "mirror:5000/hub/", "debian:12": "mine:1"}
    assert substitute(image, mapping) == found
    assert replace_base_images(f"FROM {image} AS base\nFROM base\n", mapping, "D")[1] == [found]
