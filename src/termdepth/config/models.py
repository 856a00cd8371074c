"""What a user can set. `config/schema.json` is generated from these models; a test fails when it drifts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from termdepth.errors import UserError

Kind = Literal["synthetic", "human", "ours", "calibration"]
Role = Literal["first", "second", "evaluated"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


def _with_scheme(address: str) -> str:
    if not re.match(r"https?://[^\s/]", address):
        raise ValueError(f"an address begins with http:// or https://, which {address!r} does not")
    return address


Address = Annotated[str, AfterValidator(_with_scheme)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Bins = Annotated[int, Field(gt=1)] | Annotated[list[float], Field(min_length=1)]


class Csv(_Model):
    """A CSV of one's own with a row for each task: its columns can be grouped by, be evidence, or be the label."""

    path: Path = Field(description="The file, with a header.")
    key: str = Field("task", description="Column of the CSV that names the task.")
    on: str = Field("task", description="What the key is compared with: a column of the tasks, or metadata.KEY.")


class Group(_Model):
    """One split of the tasks into groups to sample by (Table 4). Several splits are nested."""

    by: str = Field(
        description="Column of the tasks (w_lines, n_checks, difficulty, …), of the CSV, metadata.KEY, or one of the "
        "public results: public.passes, public.fewest_turns, public.MODEL.passes, …"
    )
    bins: Bins | None = Field(
        None,
        description="Number of quantile groups, or the upper limits of all groups but the last; "
        "not given: each value is a group.",
    )
    keep_whole: list[str] = Field(default_factory=list, description="Groups of the splits before to leave whole.")
    only: list[str] = Field(default_factory=list, description="Groups of this split to draw from; all if not given.")

    @field_validator("bins")
    @classmethod
    def _ascending(cls, bins: Bins | None) -> Bins | None:
        if isinstance(bins, list) and any(a >= b for a, b in pairwise(bins)):
            raise ValueError(f"the limits of the groups must ascend, not {bins}")
        return bins

    def __str__(self) -> str:
        limits = ", ".join(f"{b:g}" for b in self.bins) if isinstance(self.bins, list) else None
        how = "" if self.bins is None else f" at {limits}" if limits else f" in {self.bins}"
        only = f", only {', '.join(self.only)}" if self.only else ""
        whole = f", {', '.join(self.keep_whole)} whole" if self.keep_whole else ""
        return f"{self.by}{how}{only}{whole}"


class Exempt(_Model):
    """Tasks that need no evidence, as no results on them are released."""

    column: str = Field(description="Column that tells them, as in `evidence.column`.")
    value: str = Field(description="Its value for them.")


class Evidence(_Model):
    """Only tasks that some model passed are drawn (App. C, rule 1)."""

    column: str = Field(description="Passes, or a pass rate: of the tasks, of the CSV, metadata.KEY or public.…")
    at_least: float = Field(1, description="The least value that counts as a pass.")
    lineage: str | None = Field(
        None, description="Column of what the results are released for: its tasks are in when any of them was passed."
    )
    exempt: Exempt | None = None

    def __str__(self) -> str:
        lineage = f" for some task of the {self.lineage}" if self.lineage else ""
        exempt = f"; {self.exempt.column} {self.exempt.value}: none" if self.exempt else ""
        return f"{self.column} at least {self.at_least:g}{lineage}{exempt}"


class Light(_Model):
    """Limits of light dependencies (App. C, rule 3). MB are 10^6 bytes."""

    download_mb: float = Field(200, gt=0, description="Largest download that a task may declare.")
    build_mb: float = Field(1000, gt=0, description="Largest image.")
    build_sec: float = Field(600, gt=0, description="Longest build; it is stopped there.")


class Registry(_Model):
    """A dataset in a Harbor registry. Harbor's own client downloads it."""

    name: str = Field(
        description="name@version, or org/name@ref, as `harbor datasets list` shows them.",
        pattern=r"^[A-Za-z0-9][\w.-]*(/[\w.-]+)?(@[\w.:-]+)?$",
    )
    file: Path | None = Field(None, description="A registry.json of one's own instead of Harbor's registry.")


class Merge(_Model):
    """Which tasks of a dataset are merged into one segment (App. H)."""

    tasks: Literal["all"] | Annotated[int, Field(gt=0)] = Field(
        25, description="Tasks to draw from the solved ones of several segments, or all."
    )
    seed: int = Field(0, description="Seed of the draw.")


class Dataset(_Model):
    """A folder of Harbor tasks, and how its tasks are run."""

    name: Name = Field(description="Name in every table. Letters, digits, dot, dash, underscore.")
    path: Path | None = Field(
        None, description="Folder of task folders, or one task folder. Relative to the working directory."
    )
    registry: Registry | None = Field(None, description="Instead of a path: a dataset to download.")
    kind: Kind = Field(description="How the tasks came to be; groups the rows of the tables.")
    title: str | None = Field(None, description="Name to print; the dataset's name if not given.")
    paper_row: str | None = Field(None, description="Row of the paper's tables to set beside this dataset, e.g. TB2.")
    trusted: bool = Field(
        False,
        description="You vouch for the content: `backend: auto` may then use the sandbox (plain Debian and Ubuntu images only).",
    )
    network: Literal["none", "full"] = Field("none", description="Network of the containers.")
    time_limit_minutes: float = Field(
        30.0, gt=0, description="Time of a run, over all segments (App. B: 30, ours 180)."
    )
    time_limit_minutes_by_segments: dict[int, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="Other time limits for tasks with this many segments (App. B: 5: 150, 3: 90)."
    )
    tasks: list[str] = Field(["*"], description="Patterns of task names to use (shell globs).")
    csv: Csv | None = None
    difficulty: str | list[str] = Field(
        "difficulty",
        description="The label that the dataset releases (Table 5, Figure 8): a column, metadata.KEY, or several of them.",
    )
    evidence: Evidence | None = None
    groups: list[Group] = Field(default_factory=list, description="Splits into groups, each within those before.")
    sample: Literal["all"] | Annotated[int, Field(gt=0)] = Field("all", description="Number of tasks to admit.")
    seed: int = Field(0, description="Seed of the draw.")
    reserve: float = Field(
        0.25,
        ge=0,
        description="Share of the sample that is checked beyond it from the start, to replace tasks that fail (App. C, "
        "rule 4). Where that is not enough, the next tasks of the list are checked one after the other.",
    )
    light: Light = Light()
    needs_solution: bool = Field(
        True,
        description="False for a dataset that releases no solutions: then doing nothing must fail, and that is all.",
    )
    oracle_repeats: int = Field(
        0, ge=0, description="How often oracle and no-op are repeated, to catch verifiers that change their mind."
    )
    tasks_per_job: int = Field(20, gt=0, description="Tasks that share a job; 1 for slow paid models on a cluster.")
    evaluate: bool = Field(False, description="Run the models with the role `evaluated` on it (section 4.5).")
    replay: bool = Field(
        False,
        description="Replay the reference solutions with parts removed, to see whether the checks notice (App. F).",
    )
    merge: Merge | None = Field(
        None, description="Merge the segments of some solved tasks into one instruction and measure D again (App. H)."
    )
    freeze_agent: bool = Field(
        False,
        description="Stop the agent's processes while checks run. Breaks checks that talk to a server it started.",
    )
    memory_mb: int = Field(2048, gt=0, description="Memory of a container whose task asks for none.")
    cpus: float = Field(1.0, gt=0, description="Processors of a container whose task asks for none.")
    pids: int = Field(512, gt=0, description="Processes of a container.")
    base_images: dict[str, str] = Field(
        default_factory=dict,
        description="Base images to substitute in Dockerfiles; in the sandbox by a plain Debian or Ubuntu.",
    )
    registry_mirror: str | None = Field(
        None,
        description="Where to get images of Docker Hub: registry.local:5000/hub makes ubuntu:24.04 "
        "registry.local:5000/hub/library/ubuntu:24.04.",
    )
    build_network: Literal["none", "full"] = Field("full", description="Network of image builds.")

    @model_validator(mode="after")
    def _one_source(self) -> Dataset:
        if (self.path is None) == (self.registry is None):
            raise ValueError("give a path, or a registry to download from")
        return self

    @property
    def label(self) -> str:
        """Name to print."""
        return self.title or self.name

    def time_limit_sec(self, n_segments: int) -> float:
        """Time limit of a run in seconds, over all segments."""
        return 60.0 * self.time_limit_minutes_by_segments.get(n_segments, self.time_limit_minutes)


class Prices(_Model):
    """US dollars for a million tokens, for models whose price LiteLLM does not know."""

    input: float = Field(ge=0, description="Tokens sent.")
    output: float = Field(ge=0, description="Tokens of replies.")
    cached_input: float | None = Field(
        None, ge=0, description="Tokens sent that the provider had cached; as `input` if not given."
    )


class ModelEntry(_Model):
    """A model as LiteLLM calls it, with everything that makes a run of it different."""

    id: Name = Field(description="Name in every table.")
    litellm: str = Field(min_length=3, description="LiteLLM model name, e.g. openrouter/deepseek/deepseek-v4.1-flash.")
    roles: list[Role] = Field(
        min_length=1, description="first and second measure D; evaluated is only run without a cap."
    )
    title: str | None = Field(None, description="Name to print; the id if not given.")
    temperature: float | None = Field(None, ge=0, le=2, description="Of sampling; the provider's default if not given.")
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        None, description="The provider's default if not given."
    )
    max_output_tokens: int | None = Field(
        None, gt=0, description="Longest reply; needed for prices and unknown models."
    )
    context_tokens: int | None = Field(None, gt=0, description="Context length, for models LiteLLM does not know.")
    prices: Prices | None = None
    api_base: Address | None = Field(None, description="Address of an OpenAI-compatible server: http://… or https://….")
    request_timeout_sec: float = Field(600.0, gt=0, description="Longest wait for one reply.")
    extra_body: dict[str, Any] = Field(
        default_factory=dict,
        description="Sent with every request, e.g. {provider: {order: [DeepSeek]}} to fix a provider.",
    )
    seed_attempts: bool = Field(False, description="Send a seed that differs by attempt, for models that take one.")

    @field_validator("litellm")
    @classmethod
    def _known_habit(cls, litellm: str) -> str:
        if litellm.startswith("scripted/"):
            from termdepth.models.scripted import parse_habit

            try:
                parse_habit(litellm)
            except UserError as e:
                raise ValueError(str(e)) from None
        return litellm

    @property
    def label(self) -> str:
        """Name to print."""
        return self.title or self.id

    @property
    def scripted(self) -> bool:
        """A local model that needs no network and no key."""
        return self.litellm.startswith("scripted/")


class ProtocolConfig(_Model):
    """The measurement of D (App. B)."""

    caps: list[Annotated[int, Field(gt=0)]] = Field(
        [1, 2, 3, 5, 10, 20, 40, 80], min_length=1, description="Turn caps, increasing."
    )
    runs_uncapped: int = Field(2, gt=0, description="Runs of the first model without a cap.")
    runs_per_cap: int = Field(2, gt=0, description="Runs at a cap; the second is skipped once the first passes.")
    runs_evaluation: int = Field(2, gt=0, description="Runs of an evaluated model on a task.")
    invalid_retries: int = Field(2, ge=0, description="How often an invalid run is made again before it is left out.")
    turn_limit: int = Field(150, gt=0, description="Turns of a run without a cap.")

    @field_validator("caps")
    @classmethod
    def _increasing(cls, caps: list[int]) -> list[int]:
        if any(a >= b for a, b in pairwise(caps)):
            raise ValueError(f"caps must increase strictly, not {caps}")
        return caps


class Harness(_Model):
    """Limits of the harness (Table 3). A change of any of these is a change of the harness: every run is made again."""

    output_bytes: int = Field(10_000, gt=100, description="Output shown after a turn: its first and last halves.")
    max_wait_sec: float = Field(60.0, gt=0, le=60, description="Longest wait after a command.")
    max_compressions: int = Field(20, ge=0, description="Context compressions before a run ends as context_overflow.")


class Judge(_Model):
    """An LLM that reads the tasks whose dependencies the rules are unsure of (App. C, rule 3). Without one the build decides."""

    litellm: str = Field(min_length=3, description="LiteLLM model name.")
    temperature: float | None = Field(None, ge=0, le=2, description="Of sampling; the provider's default if not given.")
    max_output_tokens: int | None = Field(None, gt=0, description="Longest reply; the provider's default if not given.")
    api_base: Address | None = Field(None, description="Address of an OpenAI-compatible server: http://… or https://….")
    request_timeout_sec: float = Field(600.0, gt=0, description="Longest wait for the reply.")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Sent with every request.")


class Budgets(_Model):
    """Stop cleanly when reached; run again with a higher budget to go on."""

    cost_usd: float | None = Field(None, ge=0, description="US dollars over all runs in the results folder.")
    turns: int | None = Field(None, ge=0, description="Turns over all runs in the results folder.")


class PublicResults(_Model):
    """Published results on a dataset: pass rates by task, beside which D and W are set."""

    dataset: Name = Field(description="Name of the dataset they belong to; need not be one that is run.")
    source: str = Field(description="Where they were published, in a few words.")
    trials: Path = Field(
        description="CSV, one row a trial: task, model, reward (empty: no verdict), turns. Or a folder of Harbor jobs, or of "
        "terminal-bench runs."
    )
    tasks: Path | None = Field(None, description="CSV, one row a task: author_difficulty, category, solution_lines, …")


class Config(_Model):
    """config/config.yaml."""

    datasets: list[Dataset] = Field(min_length=1)
    models: list[ModelEntry] = Field(min_length=1)
    protocol: ProtocolConfig = ProtocolConfig()
    harness: Harness = Harness()
    budgets: Budgets = Budgets()
    judge: Judge | None = None
    disk_budget_gb: float | None = Field(
        None,
        gt=0,
        description="Disk for built Docker images (10^9 bytes): beyond it those used least recently are removed, "
        "and built again when they are needed.",
    )
    backend: Literal["auto", "docker", "sandbox"] = Field(
        "auto", description="auto: the sandbox for trusted datasets where it can start, else Docker."
    )
    allow_remote_models: bool = Field(False, description="Let remote models run in the sandbox.")
    trials_per_core: int = Field(2, gt=0, description="Trials at once for each core of a job: they mostly wait.")
    public_results: list[PublicResults] = Field(default_factory=list)
    results: Path = Field(Path("results"), description="Folder for everything produced.")

    @model_validator(mode="after")
    def _unique(self) -> Config:
        for what, names in (
            ("datasets", [d.name for d in self.datasets]),
            ("models", [m.id for m in self.models]),
        ):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"two {what} of one name: {', '.join(twice)}")
        for role, least in (("first", 1), ("second", 0)):
            ids = [m.id for m in self.models if role in m.roles]
            if len(ids) > 1:
                raise ValueError(f"only one model can have the role {role}, not {', '.join(ids)}")
            if len(ids) < least:
                raise ValueError(f"one model needs the role {role}")
        return self

    def folder(self, dataset: Dataset) -> Path:
        """Where the tasks of a dataset are, or will be once it is downloaded."""
        return dataset.path if dataset.path is not None else self.results / "datasets" / dataset.name

    def dataset(self, name: str) -> Dataset:
        """The dataset of this name."""
        return next(d for d in self.datasets if d.name == name)

    def model(self, id_: str) -> ModelEntry:
        """The model of this id."""
        return next(m for m in self.models if m.id == id_)

    def role(self, role: Role) -> ModelEntry | None:
        """The model that has a role only one model can have."""
        return next((m for m in self.models if role in m.roles), None)

    @property
    def sandbox_allowed(self) -> bool:
        """Whether `backend: auto` may take the sandbox for trusted datasets: not while a remote model's commands would run
        in it without permission."""
        return self.allow_remote_models or all(m.scripted for m in self.models)

    @property
    def evaluated(self) -> list[ModelEntry]:
        """Models with the role `evaluated`, in the order of the config."""
        return [m for m in self.models if "evaluated" in m.roles]
