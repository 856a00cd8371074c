"""Light dependencies (paper, App. C, rule 3), decided by rules that show what they saw.

A task is light if it runs in an ordinary Docker container without GPUs, privileged mode or systemd, uses no external
services, and needs neither downloads above 200 MB nor builds above 1 GB or 10 minutes. The rules read task.toml, the
compose file, the Dockerfile, the instructions, the reference solution and the verifier. A rule either says no, or is
unsure; then the build decides once it is measured (`measured_build`). A task where no rule speaks is light.

What is written in prose never says no, and neither does a command that the script itself does without (`|| true`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from termdepth.tasks.reading import CONFIG_NAME, TaskInfo

_LARGEST_FILE = 300_000  # bytes; what is longer is data, not a script
_MOST_FILES = 60


@dataclass(frozen=True)
class LightLimits:
    """Limits of App. C, rule 3: megabytes (10^6 bytes) and seconds."""

    download_mb: float = 200
    build_mb: float = 1000
    build_sec: float = 600


@dataclass(frozen=True)
class Evidence:
    """What one rule saw. `light` is False (the rule says no) or None (unsure); `line` counts from 1, 0 for a file."""

    rule: str
    light: bool | None
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.text}"


@dataclass(frozen=True)
class LightVerdict:
    """Whether a task is light; None if unsure, and the measured build decides.

    Attributes:
        light: False if any rule says no, else None if any is unsure, else True.
        rule: the rule that decided, None for a light task.
        evidence: all that the rules saw, deciding ones first.
    """

    light: bool | None
    rule: str | None
    evidence: tuple[Evidence, ...] = ()

    @property
    def evidence_file(self) -> str | None:
        """File that the deciding rule read, below the task's folder."""
        return self.evidence[0].file if self.evidence else None

    @property
    def evidence_line(self) -> int | None:
        """Its line, from 1; 0 if the rule is about the whole file."""
        return self.evidence[0].line if self.evidence else None

    @property
    def evidence_text(self) -> str | None:
        """What stands there."""
        return self.evidence[0].text if self.evidence else None


def light_dependencies(task: TaskInfo, limits: LightLimits | None = None) -> LightVerdict:
    """Decide from the text of the task alone. Nothing of the task is run."""
    limits = limits or LightLimits()
    seen = [*_declared(task, limits), *_compose(task), *_base_images(task)]
    for source in _sources(task):
        seen.extend(_scan(source, task, limits))
    ordered = sorted(seen, key=lambda evidence: evidence.light is None)  # stable: a no before an unsure
    if not ordered:
        return LightVerdict(True, None)
    return LightVerdict(ordered[0].light, ordered[0].rule, tuple(ordered))


def measured_build(image_bytes: int, seconds: float, limits: LightLimits | None = None) -> LightVerdict:
    """Decide from a measured build: size of the image (bytes) and time of the build (s)."""
    limits = limits or LightLimits()
    found = []
    if image_bytes > limits.build_mb * 1e6:
        text = f"{image_bytes / 1e6:.0f} MB, above {limits.build_mb:g} MB"
        found.append(Evidence("build_size", False, "image", 0, text))
    if seconds > limits.build_sec:
        found.append(Evidence("build_time", False, "image", 0, f"{seconds:.0f} s, above {limits.build_sec:g} s"))
    return LightVerdict(False, found[0].rule, tuple(found)) if found else LightVerdict(True, None)


# --- task.toml -------------------------------------------------------------------------------------------------------


def _declared(task: TaskInfo, limits: LightLimits) -> Iterator[Evidence]:
    config, environment = task.config, task.config.environment

    def at(key: str, rule: str, light: bool | None, text: str) -> Evidence:
        return Evidence(rule, light, CONFIG_NAME, _line_of(task.path / CONFIG_NAME, key), text)

    if task.os == "windows":
        yield at("os", "windows", False, "os = windows")
    if environment.gpus:
        yield at("gpus", "gpu", False, f"gpus = {environment.gpus}")
    elif environment.gpu_types:
        yield at("gpu_types", "gpu", False, f"gpu_types = {environment.gpu_types}")
    if environment.tpu is not None:
        yield at("tpu", "gpu", False, f"tpu = {environment.tpu.type}")
    for table, env in (
        ("environment", environment.env),
        ("verifier", config.verifier.env),
        ("solution", config.solution.env),
        *((f"steps.{step.name}.verifier", step.verifier.env) for step in config.steps or []),
    ):
        for name, value in env.items():
            # A variable of the host without a default: a key for something outside of the container.
            if re.search(r"\$\{\w+\}", value):
                yield at(name, "external_service", False, f"[{table}.env] {name} = {value}")
    for server in environment.mcp_servers:
        if server.url and not _is_local(server.url):
            yield at("url", "external_service", False, f"mcp server {server.name} at {server.url}")
    if environment.build_timeout_sec > limits.build_sec:
        text = f"build_timeout_sec = {environment.build_timeout_sec:g}"
        yield at("build_timeout_sec", "build_time", None, text)
    if task.docker_image and task.dockerfile is None:
        yield at("docker_image", "prebuilt_image", None, f"docker_image = {task.docker_image}")


def _line_of(path: Path, key: str) -> int:
    """Line of the first `key =` in a file, 0 if there is none."""
    pattern = re.compile(rf"(?:^|[{{,.\s\"']){re.escape(key)}[\"']?\s*[=\].]")
    for number, line in enumerate(_text(path).splitlines(), 1):
        if pattern.search(line):
            return number
    return 0


def _is_local(url: str) -> bool:
    return re.match(r"\w+://(?:localhost|127\.|0\.0\.0\.0|\[::1?\]|[\w-]+(?::\d+)?(?:/|$))", url) is not None


# --- compose ---------------------------------------------------------------------------------------------------------

_PRIVILEGES = ("privileged", "cap_add", "devices", "runtime", "security_opt", "pid", "userns_mode")


def _compose(task: TaskInfo) -> Iterator[Evidence]:
    if task.compose_file is None:
        for path in sorted((task.path / "environment").glob("*compose.y*ml")):
            # Harbor reads docker-compose.yaml only; another name is most likely a file that the task is about.
            yield Evidence("compose", None, f"environment/{path.name}", 0, "a compose file that Harbor does not use")
        return
    path, name = task.compose_file, f"environment/{task.compose_file.name}"
    services: dict[str, Any] = yaml.safe_load(path.read_bytes())["services"]  # reading.py has seen that it is valid
    for service in services.values():
        if not isinstance(service, dict):
            continue
        for key in _PRIVILEGES:
            if service.get(key):
                yield Evidence("privileged", False, name, _yaml_line(path, key), f"{key}: {service[key]}"[:200])
        if "docker.sock" in str(service.get("volumes")):
            yield Evidence("privileged", False, name, _yaml_line(path, "volumes"), "the socket of the Docker engine")
        if "nvidia" in str(service.get("deploy")) or service.get("gpus"):
            yield Evidence("gpu", False, name, _yaml_line(path, "deploy"), "reserves GPUs")
    names = ", ".join(task.compose_services)
    if len(task.compose_services) > 1:
        yield Evidence("compose_services", False, name, _yaml_line(path, "services"), f"services: {names}")
    else:
        yield Evidence("compose", False, name, _yaml_line(path, "services"), f"a compose file, service: {names}")


def _yaml_line(path: Path, key: str) -> int:
    lines = enumerate(_text(path).splitlines(), 1)
    return next((number for number, line in lines if re.match(rf"[\s-]*[\"']?{key}[\"']?\s*:", line)), 0)


# --- Dockerfile: what it starts from ---------------------------------------------------------------------------------

_SMALL_IMAGE = re.compile(
    r"(?:docker\.io/|public\.ecr\.aws/docker/|mirror\.gcr\.io/)?(?:library/)?(?:(?:ubuntu|debian|alpine|busybox|redis|nginx|httpd|postgres|bash|scratch)(?::\S*)?"
    r"|ghcr\.io/laude-institute/t-bench/(?:ubuntu|python)[\w.-]*(?::\S*)?|[\w./-]+:\S*(?:slim|alpine)\S*)(?:@\S+)?$"
)


def _base_images(task: TaskInfo) -> Iterator[Evidence]:
    if task.dockerfile is None:
        return
    name = "environment/Dockerfile"
    defaults: dict[str, str] = {}
    stages: set[str] = set()
    number = 1
    for line in _logical(_text(task.dockerfile)).split("\n"):
        at, number = number, number + 1 + line.count(_JOINT)
        words = line.split()
        if len(words) > 1 and words[0].upper() == "ARG" and "=" in words[1]:
            key, value = words[1].split("=", 1)
            defaults[key] = value.strip("\"'")
        if not words or words[0].upper() != "FROM":
            continue
        operands = [word for word in words[1:] if not word.startswith("--")]
        image = re.sub(r"\$\{?(\w+)(?::-[^}]*)?\}?", lambda match: defaults.get(match[1], match[0]), operands[0])
        if len(operands) > 2 and operands[1].upper() == "AS":
            stages.add(operands[2].lower())
        text = f"FROM {image}"
        if image.lower() in stages:
            continue
        if re.search(r"nvidia/|cuda|rocm|pytorch/pytorch|-gpu\b", image, re.IGNORECASE):
            yield Evidence("gpu", False, name, at, text)
        elif re.search(r"windows/|nanoserver|servercore", image, re.IGNORECASE):
            yield Evidence("windows", False, name, at, text)
        elif re.search(r"systemd", image, re.IGNORECASE):
            yield Evidence("systemd", False, name, at, text)
        elif re.search(r"\bdocker:\S*dind|\bdind\b", image):
            yield Evidence("privileged", False, name, at, text)
        elif not _SMALL_IMAGE.match(image):
            yield Evidence("base_image", None, name, at, text)


# --- text ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    name: str
    kind: str  # instruction, build (the Dockerfile), requirements, solution or verifier
    text: str


@dataclass(frozen=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    kinds: frozenset[str]  # where the rule reads
    says_no: frozenset[str]  # where it says no; elsewhere it is unsure
    network: bool  # about the network: silent at run time where the task declares that it has none
    words: tuple[str, ...]  # a text with none of these cannot match: much faster to see than the pattern


def _rule(
    name: str,
    pattern: str,
    kinds: frozenset[str],
    says_no: frozenset[str] = frozenset(),
    *,
    words: str,
    network: bool = False,
) -> _Rule:
    return _Rule(name, re.compile(pattern, re.MULTILINE), kinds, says_no, network, tuple(words.split()))


def _command(names: str) -> str:
    """A command at a place where the shell, or a list of arguments in quotes, runs it."""
    return (
        r"(?:^|[;&|({`\"'\[]|\b(?:sudo|then|do|else|exec|time|RUN)[ \t\v])[ \t\v]*"
        rf"(?:/usr)?(?:/s?bin/)?(?:{names})(?=[\s\"',;)]|$)"
    )


def _installs(packages: str) -> str:
    return (
        rf"\b(?:pip3?|uv|conda|mamba|micromamba|poetry|pipx)\b[^\n;&|]*?\b(?:install|add)\b[^\n;&|]*?[\s'\"]"
        rf"(?:{packages})(?=[\s'\"=<>~!\[,;]|$)"
    )


_RUN = frozenset({"solution", "verifier"})
_BUILD = frozenset({"build"})
_SCRIPTS = _RUN | _BUILD
_PROSE = frozenset({"instruction"})

_HEAVY = (
    r"torch|torchvision|torchaudio|tensorflow|tensorflow-gpu|vllm|jax\[cuda\w*\]|cupy(?:-cuda\w+)?|deepspeed|xformers"
)
_HEAVY_WORDS = "torch tensorflow vllm jax cupy deepspeed xformers"
_API_HOSTS = (
    r"api\.(?:openai|anthropic|deepseek|mistral|cohere|groq|together|stripe|twilio|slack|telegram|github)\.\w+"
    r"|generativelanguage\.googleapis\.com|openrouter\.ai|bedrock\S*\.amazonaws\.com|hooks\.slack\.com"
)
_KEYS = (
    r"\b(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE_OPENAI|DEEPSEEK|MISTRAL|COHERE|GROQ|TOGETHER|OPENROUTER|WANDB|KAGGLE)"
    r"_(?:API_)?KEY\b|\b(?:HF|HUGGINGFACE(?:_?HUB)?|GITHUB|SLACK_BOT)_TOKEN\b|\bAWS_SECRET_ACCESS_KEY\b"
)
_FETCHES = (
    r"\b(?:huggingface-cli|hf) download\b|\bsnapshot_download\(|\bfrom_pretrained\(|\bload_dataset\(|\bollama pull\b"
    r"|\bgit[ -]lfs pull\b|\bkaggle datasets download\b"
)
# Not: this machine, a name without a dot (a container), a variable, and the installer that most verifiers use.
_REMOTE = r"\bhttps?://(?!localhost|127\.|0\.0\.0\.0|\[|\$|astral\.sh|[\w-]+[:/\s])"
_SERVICE = (
    r"[\s\"',]+(?:--?\w\S*[ \t]+)*"
    r"(?:start|stop|restart|reload|load|status|is-active|try-restart|daemon-reload|daemon-reexec)\b"
)

_RULES = (
    _rule("gpu", _command("nvidia-smi|rocm-smi"), _RUN, _RUN, words="nvidia-smi rocm-smi"),
    _rule("gpu", r"--gpus[ =]", _SCRIPTS, _RUN, words="--gpus"),
    _rule("gpu", r"\b(?:CUDA|GPUs?)\b", _PROSE, words="CUDA GPU"),
    _rule("systemd", _command("systemctl") + _SERVICE, _SCRIPTS, _RUN, words="systemctl"),
    _rule(
        "systemd", _command("journalctl|timedatectl|hostnamectl|loginctl|localectl|machinectl"), _RUN, _RUN, words="ctl"
    ),
    _rule(
        "systemd",
        r"\b(?:CMD|ENTRYPOINT|exec)\b.*?(?:/sbin/init|systemd/systemd)\b",
        _SCRIPTS,
        _SCRIPTS,
        words="/sbin/init systemd/systemd",
    ),
    _rule("systemd", r"\bsystemctl\b", _PROSE, words="systemctl"),
    _rule("privileged", r"--privileged\b|--cap-add\b", _SCRIPTS, _RUN, words="--privileged --cap-add"),
    _rule(
        "privileged",
        _command("modprobe|insmod|losetup|dockerd|iptables|ip6tables|nft|kexec"),
        _RUN,
        _RUN,
        words="modprobe insmod losetup dockerd tables nft kexec",
    ),
    _rule(
        "privileged",
        _command("docker|podman") + r"[\s\"',]+(?:run|build|compose|exec|pull)\b",
        _RUN,
        _RUN,
        words="docker podman",
    ),
    _rule("privileged", _command("mount") + r"[^\n]*\bloop\b", _RUN, _RUN, words="loop"),
    _rule(
        "privileged",
        _command(r"mount|sysctl|unshare|qemu-system-\w+|ip (?:netns|link add)"),
        _RUN,
        words="mount sysctl unshare qemu-system ip",
    ),
    _rule(
        "external_service", _API_HOSTS, _RUN, _RUN, network=True, words="api. googleapis openrouter amazonaws hooks."
    ),
    _rule("external_service", _KEYS, _RUN | _PROSE, network=True, words="_KEY _TOKEN"),
    _rule("download", r"\btexlive-full\b|\bcuda-toolkit\b", _SCRIPTS, _SCRIPTS, words="texlive-full cuda-toolkit"),
    _rule("download", _installs(_HEAVY), _SCRIPTS, _RUN, network=True, words=_HEAVY_WORDS),
    _rule("download", rf"^[ \t]*(?:{_HEAVY})[ \t]*(?:[=<>~!]=|$)", frozenset({"requirements"}), words=_HEAVY_WORDS),
    _rule("download", _FETCHES, _SCRIPTS, network=True, words="download from_pretrained load_dataset ollama lfs"),
    _rule(
        "download",
        _command("curl|wget|git clone|aria2c") + rf"[^\n;&|]*?{_REMOTE}",
        _SCRIPTS,
        network=True,
        words="http",
    ),
    _rule(
        "build_time",
        _command(r"cargo build|make|cmake --build|ninja|bazel build|mvn|gradle|\./configure"),
        _BUILD,
        words="cargo make ninja bazel mvn gradle configure",
    ),
)

_DOWNLOAD_SIZE = re.compile(r"\bdownload\w*\b[^.\n]{0,80}?\b(\d+(?:\.\d+)?)\s?([MG])i?B\b", re.IGNORECASE)
_GUARDED = re.compile(r"\|\||\b(?:command -v|which|type|hash)\s|^\s*(?:if|elif|while|until)\b|\btry:|except\b")
_CPU_ONLY = re.compile(r"/cpu\b|\+cpu\b")
# In Python a command is one where it is called or heads a list of arguments; elsewhere it is a word to look for.
_PYTHON_RUNS = re.compile(
    r"\b(?:run|Popen|call|check_call|check_output|system|popen|exec\w*|shell|sh|cmd|requests?|get|post|urlopen)\b[\w.]*\("
    r"|\[\s*[\"']?\Z"
)


def _scan(source: _Source, task: TaskInfo, limits: LightLimits) -> Iterator[Evidence]:
    """Of each rule one finding in this text: the first that says no, else the first."""
    text = source.text if source.kind == "instruction" else _logical(source.text)
    offline = task.network == "no-network" and source.kind != "build"
    for rule in _RULES:
        if source.kind not in rule.kinds or (rule.network and offline):
            continue
        if not any(word in text for word in rule.words):
            continue
        first = None
        for match in rule.pattern.finditer(text):
            line = _line_around(text, match)
            before = text[text.rfind("\n", 0, match.start()) + 1 : match.start() + 1]
            if source.name.endswith(".py") and not _PYTHON_RUNS.search(before):
                continue
            unsure = _GUARDED.search(line) or (rule.name == "download" and _CPU_ONLY.search(line))
            light = False if source.kind in rule.says_no and not unsure else None
            first = first or match
            if light is False:
                yield _evidence(rule.name, False, source, text, match)
                break
        else:
            if first is not None:
                yield _evidence(rule.name, None, source, text, first)
    if offline:
        return
    for match in _DOWNLOAD_SIZE.finditer(text):
        if float(match[1]) * (1000 if match[2].upper() == "G" else 1) > limits.download_mb:
            light = None if source.kind == "instruction" else False
            yield _evidence("download", light, source, text, match)
            break


def _line_around(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start() + 1) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)]


def _evidence(rule: str, light: bool | None, source: _Source, text: str, match: re.Match[str]) -> Evidence:
    """With the physical line where the match ends: a long command's telling word is at its end."""
    physical = text.replace(_JOINT, "\n")
    at = max(match.start(), match.end() - 1)
    start = physical.rfind("\n", 0, at) + 1
    end = physical.find("\n", at)
    shown = physical[start : end if end >= 0 else len(physical)].strip()
    return Evidence(rule, light, source.name, physical.count("\n", 0, at) + 1, shown[:200])


_JOINT = "\v"
"""Stands where a backslash joins two lines, so that a pattern sees one line and a line can still be counted."""

_COMMENT_LINE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_JOINED_LINES = re.compile(r"\\[ \t]*\n((?:[ \t]*\n)*)")


def _logical(text: str) -> str:
    """`text` without comment lines and with joined lines in one; every line end is still there, some as `_JOINT`."""
    text = _COMMENT_LINE.sub("", text.replace(_JOINT, " ").replace("\r\n", "\n"))
    return _JOINED_LINES.sub(lambda match: _JOINT * match.group().count("\n"), text)


def _sources(task: TaskInfo) -> Iterator[_Source]:
    """The texts that the paper's rule names: instruction, Dockerfile, reference solution and verifier."""
    for segment in task.segments:
        yield _Source(_below(segment.instruction_path, task), "instruction", segment.instruction())
    if task.dockerfile is not None:
        yield _Source(_below(task.dockerfile, task), "build", _text(task.dockerfile))
        for path in sorted((task.path / "environment").glob("requirements*.txt")):
            yield _Source(_below(path, task), "requirements", _text(path))
    folders: dict[Path, str] = {}
    for segment in task.segments:
        if segment.solution is not None:
            folders[segment.solution.parent] = "solution"
        if segment.tests is not None:
            folders[segment.tests.parent] = "verifier"
    for folder, kind in folders.items():
        for path in _scripts(folder):
            yield _Source(_below(path, task), kind, _text(path))


def _scripts(folder: Path) -> Iterable[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in (".sh", ".py", ".bash") and path.is_file()]
    return found[:_MOST_FILES]


def _below(path: Path, task: TaskInfo) -> str:
    return path.relative_to(task.path).as_posix()


def _text(path: Path) -> str:
    if path.stat().st_size > _LARGEST_FILE:
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
