"""Plans: the general knowledge of a scripted model, and the depth that follows from them. Pure but for loading.

A plan belongs to a kind of task. Its nodes are commands; an edge says "this command can only be written after reading that
output". What differs between the tasks of a kind is never in the plan: it is captured from what was read (`captures`, on
terminal output) or from the instruction (`given`). The longest path of the graph is the depth D* of the tasks it solves
(paper, section 2, equation 3), the truth against which a measured D is checked.

In commands `{name}` is replaced by a capture; `{{` and `}}` are literal braces; a brace that does not enclose a plain name
stays as it is, so `awk '{print $2}'` needs no doubling.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from termdepth.errors import UserError

PLANS_ENV = "TERMDEPTH_PLANS"
_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


def _capturing(pattern: str) -> str:
    if re.compile(_regex(pattern), re.MULTILINE).groups < 1:
        raise ValueError("the regular expression needs a group: what is in it is the value")
    return pattern


Regex = Annotated[str, AfterValidator(_regex)]
Capturing = Annotated[str, AfterValidator(_capturing)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` by its value, `{{` and `}}` by single braces. KeyError when a value is missing."""
    return _FIELD.sub(lambda m: values[m[1]] if m[1] else m[0][0], template)


def placeholders(template: str) -> set[str]:
    """The names in `{name}`."""
    return {m[1] for m in _FIELD.finditer(template) if m[1]}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Recipe(_Model):
    """A phrase of an instruction and the command that does it. Named groups of `phrase` fill `command`."""

    phrase: Regex
    command: str

    @model_validator(mode="after")
    def _groups(self) -> Recipe:
        if unknown := placeholders(self.command) - set(re.compile(self.phrase).groupindex):
            raise ValueError(f"command uses {sorted(unknown)}, which are no named groups of phrase")
        return self

    def apply(self, text: str) -> str | None:
        """The command for an instruction that is this phrase as a whole, or None."""
        match = re.fullmatch(self.phrase, text.strip())
        return fill(self.command, match.groupdict("")) if match else None


class Node(_Model):
    """One command. `after` names nodes whose output must have been read before the command can be written."""

    id: Name
    segment: Annotated[int, Field(ge=1)] = 1
    command: str | None = None
    recipe: str | None = None
    captures: dict[Variable, Capturing] = {}
    after: tuple[Name, ...] = ()
    wait: Annotated[float, Field(ge=0, le=60)] = 0.1
    expect: Regex | None = None

    @model_validator(mode="after")
    def _one_command(self) -> Node:
        if self.command is None and self.recipe is None:
            raise ValueError("needs a command or a recipe")
        if self.recipe is not None and self.command is not None and "recipe" not in placeholders(self.command):
            raise ValueError("a command beside a recipe must contain {recipe}")
        return self

    @cached_property
    def uses(self) -> frozenset[str]:
        """The captures its command is filled with."""
        own = placeholders(self.command or "") | placeholders(self.recipe or "")
        return frozenset(own - ({"recipe"} if self.recipe is not None else set()))


class Plan(_Model):
    """What a scripted model knows about a kind of task."""

    name: Name
    about: str = ""
    when: Annotated[tuple[str, ...], Field(min_length=1)]
    given: dict[Variable, Capturing] = {}
    library: Name | None = None
    recipes: tuple[Recipe, ...] = ()
    nodes: Annotated[tuple[Node, ...], Field(min_length=1)]
    guesses: dict[Variable, str] = {}

    @model_validator(mode="after")
    def _graph(self) -> Plan:
        ids = [node.id for node in self.nodes]
        if len(set(ids)) < len(ids):
            raise ValueError(f"nodes: id used twice: {next(i for i in ids if ids.count(i) > 1)!r}")
        if "" in self.when:
            raise ValueError("when: an empty string occurs in every instruction")
        source: dict[str, str | None] = dict.fromkeys(self.given)
        for node in self.nodes:
            for name in node.captures:
                if name in source:
                    raise ValueError(f"nodes: {node.id!r} captures {name!r}, which is captured elsewhere too")
                source[name] = node.id
        if unknown := set(self.guesses) - set(source):
            raise ValueError(f"guesses: {sorted(unknown)} are captured nowhere")
        segments = {node.segment for node in self.nodes}
        if segments != set(range(1, max(segments) + 1)):
            raise ValueError(f"nodes: the segments must be 1, 2, ... without a gap, not {sorted(segments)}")
        by_id = {node.id: node for node in self.nodes}
        for node in self.nodes:
            if missing := node.uses - set(source):
                raise ValueError(f"nodes: {node.id!r} uses {sorted(missing)}, captured nowhere")
            for before in self.edges[node.id]:
                if before not in by_id:
                    raise ValueError(f"nodes: {node.id!r} is after {before!r}, and there is no such node")
                if by_id[before].segment > node.segment:
                    raise ValueError(f"nodes: {node.id!r} waits for {before!r}, which is in a later segment")
        self.levels  # noqa: B018 - raises on a cycle
        return self

    @cached_property
    def edges(self) -> dict[str, frozenset[str]]:
        """For each node, the nodes whose output must have been read: `after` and the sources of its captures."""
        source = {name: node.id for node in self.nodes for name in node.captures}
        return {node.id: frozenset(node.after) | {source[n] for n in node.uses if n in source} for node in self.nodes}

    @cached_property
    def levels(self) -> dict[str, int]:
        """For each node the first turn of its segment (from 1) in which it can be sent."""
        by_id = {node.id: node for node in self.nodes}
        done: dict[str, int] = {}

        def level(node: Node, path: tuple[str, ...]) -> int:
            if node.id in path:
                raise ValueError(f"nodes: a circle of edges: {' -> '.join((*path[path.index(node.id) :], node.id))}")
            if node.id not in done:
                same = [by_id[b] for b in self.edges[node.id] if by_id[b].segment == node.segment]
                done[node.id] = 1 + max((level(b, (*path, node.id)) for b in same), default=0)
            return done[node.id]

        for node in self.nodes:
            level(node, ())
        return done

    @property
    def segments(self) -> int:
        return max(node.segment for node in self.nodes)

    def of_segment(self, segment: int) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.segment == segment)

    def matches(self, instruction: str) -> bool:
        return all(phrase in instruction for phrase in self.when)


def plan_depth(plan: Plan) -> int:
    """Known depth in turns: over the segments, the nodes on the longest path among that segment's nodes."""
    return sum(max(plan.levels[n.id] for n in plan.of_segment(s)) for s in range(1, plan.segments + 1))


def plans_folder() -> Path:
    """TERMDEPTH_PLANS, or the bundled `resources/models/plans`."""
    named = os.environ.get(PLANS_ENV)
    return Path(named) if named else Path(__file__).parents[3] / "resources/models/plans"


def _read(path: Path) -> dict[str, object]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(error.strerror or "cannot be read", where=path) from error
    except UnicodeDecodeError as error:
        raise UserError("is not UTF-8", where=path) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        raise UserError(f"broken YAML: {getattr(error, 'problem', None) or error}", where=where) from error
    if not isinstance(data, dict):
        raise UserError("must be a mapping of keys", where=path)
    return data


def _user_error(path: Path, error: ValidationError) -> UserError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    problem = first["msg"].removeprefix("Value error, ")
    hint = "see resources/models/plans/README.md" if first["type"] in {"extra_forbidden", "missing"} else None
    return UserError(f"{key}: {problem}" if key else problem, where=path, hint=hint)


class _Library(_Model):
    recipes: tuple[Recipe, ...]


def load_plan(path: Path) -> Plan:
    """One plan file. `library: NAME` adds the recipes of `recipes/NAME.yaml` beside it after the plan's own.

    Raises:
        UserError: naming file and key (or line).
    """
    try:
        plan = Plan.model_validate(_read(path))
    except ValidationError as error:
        raise _user_error(path, error) from error
    if plan.library is None:
        return plan
    library = path.parent / "recipes" / f"{plan.library}.yaml"
    if not library.is_file():
        raise UserError(f"library: there is no {library}", where=path)
    try:
        shared = _Library.model_validate(_read(library))
    except ValidationError as error:
        raise _user_error(library, error) from error
    return plan.model_copy(update={"recipes": plan.recipes + shared.recipes})


@lru_cache(maxsize=8)
def _load_all(folder: Path, _state: tuple[tuple[str, int], ...]) -> tuple[Plan, ...]:
    found: dict[str, tuple[Plan, Path]] = {}
    for path in sorted(folder.glob("*.yaml")):
        plan = load_plan(path)
        if plan.name in found:
            raise UserError(f"name: {plan.name!r} is also the name of {found[plan.name][1]}", where=path)
        found[plan.name] = plan, path
    return tuple(plan for plan, _ in found.values())


def load_plans(folder: Path | None = None) -> tuple[Plan, ...]:
    """All plans of a folder (default: `plans_folder()`), in the order of their file names. Read again only when changed.

    Raises:
        UserError: the folder is missing, a file is broken, or two plans have one name.
    """
    folder = folder or plans_folder()
    if not folder.is_dir():
        raise UserError("there is no such folder of plans", where=folder, hint=f"{PLANS_ENV} names it")
    state = tuple((str(p), p.stat().st_mtime_ns) for p in sorted(folder.glob("**/*.yaml")))
    return _load_all(folder, state)


def find_plan(instruction: str, plans: Iterable[Plan] | None = None) -> Plan | None:
    """The plan whose `when` strings all occur in the instruction; of several, the one that says most; else None."""
    matching = [plan for plan in (load_plans() if plans is None else plans) if plan.matches(instruction)]
    return max(matching, key=lambda plan: (len(plan.when), sum(map(len, plan.when))), default=None)
