"""What the report must know beside the tables of record: names, order, caps. Light to import, and JSON-able."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from termdepth.config.models import Config

_CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as the config has it. paper_row: its name in the paper's tables, None where the paper has it not.
    groups, evidence: how it is sampled, in words."""

    name: str
    label: str
    kind: str
    paper_row: str | None = None
    time_limit_minutes: float | None = None
    groups: str | None = None
    evidence: str | None = None


@dataclass(frozen=True)
class ModelInfo:
    """A model as the config has it. A model whose label is a name of Table 2 is compared with that row."""

    id: str
    label: str
    roles: tuple[str, ...] = ()
    effort: str | None = None


@dataclass(frozen=True)
class ReportContext:
    """Order of rows and panels, names to print, and the settings that tables and figures mention.

    caps: in turns, increasing. paper: folder of the paper's published figures (CSV); without it comparisons stay empty.
    """

    datasets: tuple[DatasetInfo, ...] = ()
    models: tuple[ModelInfo, ...] = ()
    caps: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 40, 80)
    first_model: str | None = None
    second_model: str | None = None
    turn_limit: int | None = None
    output_bytes: int | None = None
    max_wait_sec: float | None = None
    paper: str = field(default=str(_CHECKOUT / "resources" / "paper"))
    seed: int = 0
    n_boot: int = 10_000

    @classmethod
    def from_config(cls, config: Config) -> ReportContext:
        """The part of the config that the report depends on."""
        first, second = config.role("first"), config.role("second")
        return cls(
            datasets=tuple(
                DatasetInfo(
                    d.name,
                    d.label,
                    d.kind,
                    d.paper_row,
                    d.time_limit_minutes,
                    "; ".join(map(str, d.groups)) or None,
                    str(d.evidence) if d.evidence else None,
                )
                for d in config.datasets
            ),
            models=tuple(ModelInfo(m.id, m.label, tuple(m.roles), m.reasoning_effort) for m in config.models),
            caps=tuple(config.protocol.caps),
            first_model=first.id if first else None,
            second_model=second.id if second else None,
            turn_limit=config.protocol.turn_limit,
            output_bytes=config.harness.output_bytes,
            max_wait_sec=config.harness.max_wait_sec,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and texts, for the `params: spec` of a rule. The paper's folder is not part of it."""
        values = asdict(self)
        del values["paper"]
        return values

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ReportContext:
        """The inverse of `to_json`, also after a round trip through JSON."""
        return cls(
            **{
                **values,
                "datasets": tuple(DatasetInfo(**d) for d in values["datasets"]),
                "models": tuple(ModelInfo(**{**m, "roles": tuple(m["roles"])}) for m in values["models"]),
                "caps": tuple(values["caps"]),
            }
        )

    @property
    def above(self) -> str:
        """How D above the largest cap is printed."""
        return f">{self.caps[-1]}"

    def dataset_label(self, name: str) -> str:
        return next((d.label for d in self.datasets if d.name == name), name)

    def model_label(self, id_: str) -> str:
        return next((m.label for m in self.models if m.id == id_), id_)
