"""Reading Dockerfiles: instructions, variables, base images, and the sandbox's subset."""

from __future__ import annotations

import time

import pytest

from termdepth.environments.dockerfile import DOCKER_HUB, expand, instructions, replace_base_images, substitute, words
from termdepth.environments.sandbox.dockerfile import Copy, Run, Workdir, parse
from termdepth.environments.sandbox.packages import wanted_packages
from termdepth.environments.sandbox.userland import Release, note, read_release, trouble
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


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("RUN x\n", "D: no FROM"),
        ("FROM\n", "D:1: FROM cannot be read"),
        ("ARG V\nFROM $V\n", r"D:2: FROM names no image: \$V is empty"),
    ],
)
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
        parse(f"FROM debian\n\n{line}\n", "some/Dockerfile")


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


# ---- the sandbox: what this machine stands in for


@pytest.mark.parametrize(
    "image",
    [
        "debian",
        "debian:bookworm-slim",
        "ubuntu:24.04",
        "library/debian:12",
        "docker.io/ubuntu",
        "docker.io/library/ubuntu:noble-20240605",
        "index.docker.io/library/debian:12.5-slim",
        "debian@sha256:0123456789abcdef",
        "ubuntu:22.04@sha256:ab",
    ],
)
def test_a_plain_debian_or_ubuntu_is_stood_in_for(image: str) -> None:
    assert trouble(image, {}) is None
    assert parse(f"FROM {image} AS base\n", "D").base == image


@pytest.mark.parametrize(
    "image",
    [
        "nosuchimage:9.9",
        "python:3.12",
        "python:3.12-slim-bookworm",
        "buildpack-deps:bookworm",
        "alpine",
        "fedora:40",
        "scratch",
        "debian/snapshot:bookworm",
        "someone/ubuntu:24.04",
        "registry.local/ubuntu:24.04",
        "localhost:5000/library/debian:12",
        "ghcr.io/laude-institute/t-bench/ubuntu-24-04:latest",
        "debian:",
        "debian:12:13",
        "Debian:12",
        "ubuntu-debootstrap:14.04",
    ],
)
def test_no_other_image_is_stood_in_for(image: str) -> None:
    assert trouble(image, {}) == f"{image}: the sandbox has only this machine's own programs"
    with pytest.raises(UserError) as error:
        parse(f"# a task\nFROM {image}\nRUN true\n", "some/Dockerfile")
    assert str(error.value) == (
        f"some/Dockerfile:2: FROM {image}: the sandbox has only this machine's own programs "
        "(use backend: docker, or leave out trusted)"
    )


@pytest.mark.parametrize(
    ("image", "mapping", "problem"),
    [
        ("mine:1", {"mine:1": "debian:12"}, None),
        ("mine", {"mine:latest": "docker.io/library/ubuntu:24.04"}, None),
        ("debian:12", {DOCKER_HUB: "mirror:5000/hub"}, None),
        ("python:3", {DOCKER_HUB: "mirror:5000/hub"}, "python:3: the sandbox has only"),
        (
            "debian:12",
            {"debian:12": "own/debian:12"},
            r"debian:12 \(base_images puts own/debian:12 in its place\): the",
        ),
    ],
)
def test_base_images_are_substituted_before_the_rule(image: str, mapping: dict[str, str], problem: str | None) -> None:
    text = f"ARG IMAGE={image}\nFROM ${{IMAGE}}\n"
    if problem is None:
        assert parse(text, "D", mapping).base == image
    else:
        with pytest.raises(UserError, match=f"D:2: FROM {problem}"):
            parse(text, "D", mapping)


@pytest.mark.parametrize(
    ("platform", "machine", "good"),
    [
        ("linux/amd64", "x86_64", True),
        ("linux/arm64/v8", "aarch64", True),
        ("arm64", "aarch64", True),
        ("linux/riscv64", "riscv64", True),
        ("linux/arm64", "x86_64", False),
        ("amd64", "aarch64", False),
        ("windows/amd64", "x86_64", False),
        ("", "aarch64", True),  # a variable of BuildKit's, $BUILDPLATFORM: this machine
    ],
)
def test_programs_for_another_processor_are_not_stood_in_for(platform: str, machine: str, good: bool) -> None:
    why = trouble("debian:12", {}, platform, machine)
    assert why is None if good else why is not None and why.endswith(f"which are not for {platform}")


def test_platform_of_from_is_looked_at() -> None:
    with pytest.raises(UserError, match=r"D:2: FROM debian: .* not for linux/s390x"):
        parse("ARG P=linux/s390x\nFROM --platform=$P debian\n", "D")
    assert parse("FROM --platform=$BUILDPLATFORM debian\n", "D").base == "debian"


BOOKWORM = Release("debian", "12", "bookworm", "Debian GNU/Linux 12 (bookworm)")
NOBLE = Release("ubuntu", "24.04", "noble", "Ubuntu 24.04.1 LTS")
MINT = Release("linuxmint", "22", "wilma", "Linux Mint 22")


@pytest.mark.parametrize(
    ("image", "host", "same"),
    [
        ("debian:bookworm-slim", BOOKWORM, True),
        ("debian:12", BOOKWORM, True),
        ("docker.io/library/debian:12.5-slim@sha256:ab", BOOKWORM, True),
        ("debian:bookworm-20240513-slim", BOOKWORM, True),
        ("debian:13", BOOKWORM, False),
        ("debian:trixie-slim", BOOKWORM, False),
        ("debian", BOOKWORM, False),  # whatever was the latest when the task was made
        ("debian:stable", BOOKWORM, False),
        ("debian@sha256:ab", BOOKWORM, False),
        ("ubuntu:24.04", BOOKWORM, False),
        ("ubuntu:12", BOOKWORM, False),
        ("mine:1", BOOKWORM, False),  # by way of base_images
        ("ubuntu:24.04", NOBLE, True),
        ("ubuntu:noble", NOBLE, True),
        ("ubuntu:24.10", NOBLE, False),
        ("ubuntu:22.04", NOBLE, False),
        ("debian:bookworm-slim", NOBLE, False),
        ("ubuntu:22", MINT, False),
        ("debian:", Release("", "", "", ""), False),
    ],
)
def test_a_stand_in_of_another_release_is_said(image: str, host: Release, same: bool) -> None:
    said = note(image, host)
    assert said == (None if same else f"{host.name or 'an unknown release'} of this machine stands in for {image}")


def test_os_release_is_read() -> None:
    text = (
        '# c\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nID=ubuntu\n'
    )
    assert read_release(text) == NOBLE
    assert read_release('ID="debian') == Release("", "", "", "") == read_release("")


# ---- the sandbox: steps that wanted packages


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("apt-get install -y jq", ""),
        ("set -eux; apt-get -qq -o A::B=1 update && true", ""),
        ("DEBIAN_FRONTEND=noninteractive /usr/bin/apt install   jq", ""),
        ("(apk --no-cache add jq)", ""),
        ("dpkg -i /tmp/x.deb", ""),
        ("dnf -y install jq", ""),
        ("yum install jq", ""),
        ("pacman -Sy --noconfirm jq", ""),
        ("python3 -m pip install --no-cache-dir requests", ""),
        ("pip3.12 install -r /app/requirements.txt", ""),
        ("cd /app && npm ci", ""),
        ("go mod download", ""),
        ("cargo install ripgrep", ""),
        ("/setup.sh", "+ apt-get install -y jq\nE: Something"),
        (
            "/setup.sh",
            "Reading\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?",
        ),
        ("/setup.sh", "E: Unable to locate package jq"),
        ("/setup.sh", "/bin/sh: 1: apk: not found"),
        ("/setup.sh", "/setup.sh: line 3: dnf: command not found"),
        ("/setup.sh", "error: externally-managed-environment"),
        ("/setup.sh", "ERROR: No matching distribution found for requests"),
    ],
)
def test_a_step_that_wanted_packages(command: str, output: str) -> None:
    assert wanted_packages(["/bin/sh", "-c", command], output.splitlines())


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("false", ""),
        ("cat /etc/apt/sources.list", "cat: /etc/apt/sources.list: No such file or directory"),
        ("test $(dpkg --print-architecture) = arm64", ""),
        ("make install", "make: *** No rule to make target 'install'.  Stop."),
        ("npm run install-hooks", ""),
        ("git add x", "fatal: not a git repository"),
        ("pip --version; ./install.sh", "./install.sh: not found"),
        ("install -m 755 apt update.sh /usr/bin", ""),
        ("jq .", "/bin/sh: 1: jq: not found"),
        ("x", "try: apt install x"),  # a program's advice
    ],
)
def test_a_step_that_wanted_none(command: str, output: str) -> None:
    assert not wanted_packages(["/bin/sh", "-c", command], output.splitlines())


def test_looking_for_packages_is_soon_done() -> None:
    started = time.monotonic()
    assert not wanted_packages(["/bin/sh", "-c", "apt " * 10_000], ["+" + "apt " * 10_000])
    assert time.monotonic() - started < 5  # 0.1 s; without a bound for the gap it is minutes
