"""Light dependencies: each rule says no, is unsure or is silent where it should, and shows the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_builders import DOCKERFILE, SOLVE, TEST, TOML, multi, single
from termdepth.tasks.light import LightLimits, LightVerdict, light_dependencies, measured_build
from termdepth.tasks.reading import TaskInfo, read_task

ONLINE = TOML.replace("no-network", "public")


def verdict(folder: Path) -> LightVerdict:
    task = read_task(folder, folder.parent)
    assert isinstance(task, TaskInfo), task
    return light_dependencies(task)


def test_a_plain_task_is_light_and_no_rule_speaks(tmp_path: Path) -> None:
    assert verdict(single(tmp_path / "t")) == LightVerdict(True, None)
    assert verdict(multi(tmp_path / "u")) == LightVerdict(True, None)


def toml(extra: str) -> str:
    return TOML + extra


@pytest.mark.parametrize(
    ("config", "light", "rule", "line"),
    [
        (toml("gpus = 1\n"), False, "gpu", 11),
        (toml("gpus = 0\n"), True, None, None),
        (toml('gpu_types = ["T4"]\n'), False, "gpu", 11),
        (toml('tpu = {type = "v4", topology = "2x2x1"}\n'), False, "gpu", 11),
        (toml("build_timeout_sec = 1200\n"), None, "build_time", 11),
        (toml("build_timeout_sec = 600\n"), True, None, None),
        (toml('[verifier.env]\nOPENAI_API_KEY = "${OPENAI_API_KEY}"\n'), False, "external_service", 12),
        (toml('[verifier.env]\nMODE = "${MODE:-fast}"\n'), True, None, None),
        (toml('[environment.env]\nTOKEN = "${SERVICE_TOKEN}"\n'), False, "external_service", 12),
        (
            toml('[[environment.mcp_servers]]\nname = "s"\nurl = "https://mcp.example.com/x"\n'),
            False,
            "external_service",
            13,
        ),
        (toml('[[environment.mcp_servers]]\nname = "s"\nurl = "http://localhost:8000/x"\n'), True, None, None),
    ],
)
def test_what_task_toml_declares(
    tmp_path: Path, config: str, light: bool | None, rule: str | None, line: int | None
) -> None:
    found = verdict(single(tmp_path / "t", toml=config))
    assert (found.light, found.rule, found.evidence_line) == (light, rule, line)
    if rule:
        assert found.evidence_file == "task.toml"


def test_windows(tmp_path: Path) -> None:
    files = {"tests/test.bat": "@echo off\n", "solution/solve.bat": "echo a\n"}
    found = verdict(single(tmp_path / "t", files, toml='[environment]\nos = "windows"\n'))
    assert (found.light, found.rule, found.evidence_line) == (False, "windows", 2)


def test_a_prebuilt_image_is_for_the_measurement_to_decide(tmp_path: Path) -> None:
    config = '[environment]\ndocker_image = "registry.example/a:1"\n'
    found = verdict(single(tmp_path / "t", {"environment/Dockerfile": None}, toml=config))
    assert (found.light, found.rule, found.evidence_line) == (None, "prebuilt_image", 2)


@pytest.mark.parametrize(
    ("compose", "rule", "line"),
    [
        ("services:\n  main:\n    build: .\n", "compose", 1),
        ("services:\n  main: {build: .}\n  db: {image: postgres}\n", "compose_services", 1),
        ("services:\n  main:\n    build: .\n    privileged: true\n", "privileged", 4),
        ("services:\n  main:\n    cap_add: [NET_ADMIN]\n", "privileged", 3),
        ("services:\n  main:\n    volumes:\n      - /var/run/docker.sock:/var/run/docker.sock\n", "privileged", 3),
        ("services:\n  main:\n    deploy: {resources: {reservations: {devices: [{driver: nvidia}]}}}\n", "gpu", 3),
        ("services:\n  main:\n", "compose", 1),
    ],
)
def test_compose_files_are_not_light(tmp_path: Path, compose: str, rule: str, line: int) -> None:
    found = verdict(single(tmp_path / "t", {"environment/docker-compose.yaml": compose}))
    assert (found.light, found.rule, found.evidence_line) == (False, rule, line)
    assert found.evidence_file == "environment/docker-compose.yaml"


def test_a_compose_file_that_harbor_does_not_use_says_nothing_sure(tmp_path: Path) -> None:
    found = verdict(single(tmp_path / "t", {"environment/docker-compose.yml": "services: {a: {}, b: {}}\n"}))
    assert (found.light, found.rule) == (None, "compose")


@pytest.mark.parametrize(
    ("dockerfile", "light", "rule", "line"),
    [
        ("FROM ubuntu:24.04\n", True, None, None),
        ("FROM python:3.12-slim-bookworm\n", True, None, None),
        ("FROM --platform=linux/amd64 docker.io/library/debian:12@sha256:00\n", True, None, None),
        ("ARG BASE=ubuntu:22.04\nFROM ${BASE}\n", True, None, None),
        ("FROM golang:1.22-alpine AS build\nFROM debian:12\nCOPY --from=build /a /a\n", True, None, None),
        ("FROM debian:12 AS one\nFROM one\n", True, None, None),
        ("# FROM nvidia/cuda\nFROM debian:12\n", True, None, None),
        ("FROM debian:12\n\nFROM rust:1.80\n", None, "base_image", 3),
        ("FROM example.com/own/image\n", None, "base_image", 1),
        ("FROM nvidia/cuda:12.4.0-base\n", False, "gpu", 1),
        ("FROM mcr.microsoft.com/windows/servercore:ltsc2022\n", False, "windows", 1),
        ("FROM docker:27-dind\n", False, "privileged", 1),
        ('FROM debian:12\nCMD ["/sbin/init"]\n', False, "systemd", 2),
        (
            "FROM debian:12\nRUN apt-get install -y \\\n    build-essential \\\n    make \\\n    texlive-full\n",
            False,
            "download",
            5,
        ),
        ("FROM debian:12\nRUN pip install numpy \\\n    # heavy\n    torch==2.4.0\n", None, "download", 4),
        (
            "FROM debian:12\nRUN pip install --index-url https://download.pytorch.org/whl/cpu torch\n",
            None,
            "download",
            2,
        ),
        ("FROM debian:12\nRUN git clone https://github.com/a/b && cd b && make\n", None, "download", 2),
        ("FROM debian:12\nRUN cd /src && make -j4\n", None, "build_time", 2),
        ("FROM debian:12\nRUN systemctl enable ssh\n", True, None, None),
        ('FROM debian:12\nARG HF_TOKEN=""\n', True, None, None),
    ],
)
def test_dockerfiles(tmp_path: Path, dockerfile: str, light: bool | None, rule: str | None, line: int | None) -> None:
    found = verdict(single(tmp_path / "t", {"environment/Dockerfile": dockerfile}))
    assert (found.light, found.rule, found.evidence_line) == (light, rule, line)


def test_requirements_beside_the_dockerfile(tmp_path: Path) -> None:
    found = verdict(single(tmp_path / "t", {"environment/requirements.txt": "numpy\ntorch>=2\n"}))
    assert (found.light, found.evidence_file, found.evidence_line) == (None, "environment/requirements.txt", 2)


@pytest.mark.parametrize(
    ("line", "light", "rule"),
    [
        ("systemctl restart nginx", False, "systemd"),
        ("sudo systemctl --user status x", False, "systemd"),
        ("systemctl restart nginx || service nginx restart", None, "systemd"),
        ("if command -v systemctl; then systemctl start a; fi", None, "systemd"),
        ("# systemctl restart nginx", True, None),
        ("echo 'Use the systemctl-like tool'", True, None),
        ("journalctl -u nginx", False, "systemd"),
        ("nvidia-smi", False, "gpu"),
        ("nvidia-smi || true", None, "gpu"),
        ("modprobe loop", False, "privileged"),
        ("iptables -A INPUT -j DROP", False, "privileged"),
        ("apt-get install -y iptables", True, None),
        ("docker run --rm alpine true", False, "privileged"),
        ("cat docker run", True, None),
        ("mount -o loop disk.img /mnt", False, "privileged"),
        ("mount --bind a b", None, "privileged"),
        ("curl https://api.openai.com/v1/models", False, "external_service"),
        ("export OPENAI_API_KEY=x", None, "external_service"),
        ("pip install torch", False, "download"),
        ("pip install torch --index-url https://download.pytorch.org/whl/cpu", None, "download"),
        ("pip install pytorch-lightning-utilities", True, None),
        ("huggingface-cli download org/model", None, "download"),
        ("wget https://example.com/big.tar", None, "download"),
        ("curl -s http://localhost:8080/health", True, None),
        ("curl -s http://web:8080/health", True, None),
        ("curl -LsSf https://astral.sh/uv/0.7.13/install.sh | sh", True, None),
        ("# download 5 GB first", True, None),
        ("echo 'will download 1.5 GB of data'", False, "download"),
        ("echo 'will download 150 MB of data'", True, None),
    ],
)
@pytest.mark.parametrize("place", ["solution/solve.sh", "tests/test.sh"])
def test_commands_of_the_solution_and_the_verifier(
    tmp_path: Path, place: str, line: str, light: bool | None, rule: str | None
) -> None:
    before = SOLVE if place.startswith("solution") else TEST
    found = verdict(single(tmp_path / "t", {place: before + line + "\n"}, toml=ONLINE))
    assert (found.light, found.rule) == (light, rule)
    if rule:
        assert (found.evidence_file, found.evidence_text) == (place, line)
        assert found.evidence_line == before.count("\n") + 1


@pytest.mark.parametrize(
    ("line", "light"),
    [
        ('subprocess.run(["systemctl", "is-active", "x"])', False),
        ('os.system("systemctl start x")', False),
        ('    ["systemctl", "start", "x"],', False),
        ('assert "systemctl start ssh" in text', True),
        ("words = ['text', 'mount', 'iptables', 'docker run']", True),
        ('requests.get("https://api.github.com/x")', False),
        ('assert "https://api.github.com/x" in text', True),
    ],
)
def test_python_verifiers_run_commands_or_only_name_them(tmp_path: Path, line: str, light: bool) -> None:
    found = verdict(single(tmp_path / "t", {"tests/test_outputs.py": f"import os\n{line}\n"}, toml=ONLINE))
    assert found.light is light
    if not light:
        assert (found.evidence_file, found.evidence_line) == ("tests/test_outputs.py", 2)


def test_what_needs_the_network_is_silent_where_the_task_has_none(tmp_path: Path) -> None:
    solve = SOLVE + "curl https://api.openai.com/v1/models\npip install torch\n"
    assert verdict(single(tmp_path / "t", {"solution/solve.sh": solve})).light is True
    assert verdict(single(tmp_path / "u", {"solution/solve.sh": solve}, toml=ONLINE)).light is False


def test_prose_is_never_sure(tmp_path: Path) -> None:
    text = "There is no GPU. Run `systemctl restart x`. You download 3 GB.\n"
    found = verdict(single(tmp_path / "t", {"instruction.md": text}, toml=ONLINE))
    assert found.light is None
    assert {evidence.rule for evidence in found.evidence} == {"gpu", "systemd", "download"}


def test_a_no_goes_before_what_is_unsure_and_all_is_kept(tmp_path: Path) -> None:
    files = {"environment/Dockerfile": "FROM rust:1\n", "solution/solve.sh": "true || nvidia-smi\nnvidia-smi\n"}
    found = verdict(single(tmp_path / "t", files))
    assert (found.light, found.rule, found.evidence_line) == (False, "gpu", 2)
    assert [evidence.rule for evidence in found.evidence] == ["gpu", "base_image"]
    assert str(found.evidence[0]) == "solution/solve.sh:2: nvidia-smi"


def test_the_segments_of_a_task_are_all_read(tmp_path: Path) -> None:
    found = verdict(multi(tmp_path / "t", 3, {"steps/s3/solution/solve.sh": "nvidia-smi\n"}))
    assert (found.light, found.evidence_file) == (False, "steps/s3/solution/solve.sh")


def test_the_measured_build_decides_by_size_and_time() -> None:
    assert measured_build(10**9, 600) == LightVerdict(True, None)
    large = measured_build(1_200_000_000, 5)
    assert (large.light, large.rule, large.evidence_text) == (False, "build_size", "1200 MB, above 1000 MB")
    slow = measured_build(10**8, 601)
    assert (slow.light, slow.rule) == (False, "build_time")
    assert measured_build(10**8, 601, LightLimits(build_sec=700)).light is True


def test_a_large_file_is_data_and_costs_nothing(tmp_path: Path) -> None:
    files = {"tests/data.py": b"x = 1\n" * 200_000, "environment/Dockerfile": DOCKERFILE}
    assert verdict(single(tmp_path / "t", files)).light is True
