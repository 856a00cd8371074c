"""docs/config.md: every key of the config, from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from termdepth.config.models import Config

_HEAD = """\
# Config

Every key of `config/config.yaml`, generated from `termdepth.config.models` (`make docs`). The same is in `config/schema.json`,
which editors read: `config/config.yaml` names it in its first line. A key that is not here, a value of another type or a path
that does not exist is one line of error before anything runs. Paths are relative to the folder that snakemake runs in.

Any key can be set on the command line, and a second file laid over the first:

```
snakemake --cores 8 --config backend=docker
snakemake --cores 8 --configfile config/paper.yaml
```
"""


def document() -> str:
    """The page, in Markdown."""
    schema = Config.model_json_schema()
    blocks = schema["$defs"]
    parts = [_HEAD, "## Top level\n", _table(schema, blocks)]
    for name in _order(schema, blocks):
        parts += [f"## {_heading(name, schema, blocks)}\n", blocks[name].get("description", "").strip() + "\n"]
        parts.append(_table(blocks[name], blocks))
    return "\n".join(parts)


def _order(schema: Mapping[str, Any], blocks: Mapping[str, Any]) -> list[str]:
    """Blocks in the order in which they are first named, each before those inside it."""
    found: dict[str, None] = {}
    pending = list(_named(schema["properties"]))
    while pending:
        name = pending.pop(0)
        if name not in found:
            found[name] = None
            pending += _named(blocks[name]["properties"])
    return list(found)


def _named(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        part = list(part.values())
    if isinstance(part, list):
        for value in part:
            yield from _named(value)


def _heading(name: str, schema: Mapping[str, Any], blocks: Mapping[str, Any]) -> str:
    """Where the block is written, such as `datasets[].merge`."""
    if path := _path(name, schema["properties"]):
        return f"`{path}`"
    for outer, block in blocks.items():
        if outer != name and (path := _path(name, block["properties"])):
            return f"{_heading(outer, schema, blocks).rstrip('`')}.{path}`"
    raise AssertionError(f"{name} is nowhere")


def _path(name: str, properties: Mapping[str, Any]) -> str | None:
    for key, value in properties.items():
        if name in _named(value):
            return f"{key}[]" if value.get("type") == "array" else key
    return None


def _table(block: Mapping[str, Any], blocks: Mapping[str, Any]) -> str:
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    needed = block.get("required", [])
    for key, value in block["properties"].items():
        meaning = value.get("description") or next((blocks[n].get("description", "") for n in _named(value)), "")
        default = "**required**" if key in needed else _default(value.get("default"))
        cells = (f"`{key}`", _type(value), default, " ".join(meaning.split()))
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _default(value: Any) -> str:
    """A block's default is that of its keys."""
    return "" if value in (None, []) or isinstance(value, dict) else f"`{json.dumps(value, ensure_ascii=False)}`"


_TYPES = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "block",
    "null": "",
}  # fmt: skip


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return "block"
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(text for choice in value["anyOf"] if (text := _type(choice))))
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if value.get("format") == "path":
        return "path"
    kind = value.get("type")
    if kind == "array":
        return f"list of {_type(value.get('items', {})) or 'values'}"
    if kind == "object" and isinstance(values := value.get("additionalProperties"), Mapping):
        return f"{_type(value.get('propertyNames', {'type': 'string'}))}: {_type(values)}"
    limits = [
        f"{sign} {value[name]:g}"
        for name, sign in (("exclusiveMinimum", ">"), ("minimum", "≥"), ("exclusiveMaximum", "<"), ("maximum", "≤"))
        if name in value
    ]
    return " ".join([_TYPES.get(str(kind), "any"), ", ".join(limits)]).strip()
