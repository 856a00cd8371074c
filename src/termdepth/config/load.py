"""Read a config, and say in one line each what is wrong with it, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from termdepth.config.models import Config
from termdepth.errors import UserError

_SAY = {
    "extra_forbidden": "unknown key",
    "missing": "this key is missing",
}


def _key(loc: Sequence[str | int], data: Any) -> str:
    """`datasets[1] (tb2).path` for a location in the config."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
            data = data[part] if isinstance(data, list) and part < len(data) else None
            if isinstance(data, Mapping) and (name := data.get("name") or data.get("id")):
                text += f" ({name})"
        elif isinstance(data, Mapping) or data is None:
            text += f".{part}" if text else part
            data = data.get(part) if isinstance(data, Mapping) else None
    return text


def _say(error: Any, data: Any) -> str:
    loc = _key(error["loc"], data)
    message = _SAY.get(error["type"], error["msg"].removeprefix("Value error, "))
    if error["type"] == "extra_forbidden":
        near = get_close_matches(str(error["loc"][-1]), _keys_at(error["loc"][:-1]), n=1)
        message += f" (did you mean {near[0]}?)" if near else ""
    given = error.get("input")
    shown = (
        ""
        if error["type"] in _SAY or error["type"] == "value_error" or isinstance(given, dict | list)
        else f", not {given!r}"
    )
    return f"{loc + ': ' if loc else ''}{message}{shown}"


def _keys_at(loc: Sequence[str | int]) -> list[str]:
    """The keys that the block at a location may have."""
    schema = Config.model_json_schema()
    block: Any = schema
    for part in loc:
        block = block.get("items", {}) if isinstance(part, int) else block.get("properties", {}).get(part, block)
        choices = [block, *block.get("anyOf", [])]
        named = next((choice["$ref"] for choice in choices if "$ref" in choice), None)
        block = schema["$defs"][named.rpartition("/")[2]] if named else block
    return list(block.get("properties", {}))


def parse_config(data: Mapping[str, Any], *, where: str, check_paths: bool = True) -> Config:
    """The config that `data` describes.

    Args:
        data: the merged content of the config files.
        where: the files, for messages.
        check_paths: also ask whether the folders and files that it names are there.

    Raises:
        UserError: one line for each thing that is wrong, with file and key.
    """
    try:
        config = Config.model_validate(data)
    except ValidationError as e:
        lines = list(dict.fromkeys(f"{where}: {_say(error, data)}" for error in e.errors()))
        raise UserError("\n".join(lines)) from None
    if check_paths:
        lines = [f"{where}: {key}: no such {what}: {path}" for key, what, path in _missing_paths(config)]
        if lines:
            raise UserError("\n".join(lines))
    return config


def _missing_paths(config: Config) -> list[tuple[str, str, Path]]:
    found = [
        (f"datasets[{i}] ({d.name}).path", "folder", d.path)
        for i, d in enumerate(config.datasets)
        if d.path is not None and not d.path.is_dir()
    ]
    for i, d in enumerate(config.datasets):
        if d.csv and not d.csv.path.is_file():
            found.append((f"datasets[{i}] ({d.name}).csv.path", "file", d.csv.path))
        if d.registry and d.registry.file and not d.registry.file.is_file():
            found.append((f"datasets[{i}] ({d.name}).registry.file", "file", d.registry.file))
    for i, p in enumerate(config.public_results):
        if not p.trials.exists():
            found.append((f"public_results[{i}] ({p.dataset}).trials", "file or folder", p.trials))
        if p.tasks is not None and not p.tasks.is_file():
            found.append((f"public_results[{i}] ({p.dataset}).tasks", "file", p.tasks))
    return found


class _UniqueKeys(yaml.SafeLoader):
    """YAML whose mappings name each key once: of two, the first would silently be without effect."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path) -> Mapping[str, Any]:
    """The mapping in one YAML file.

    Raises:
        UserError: the file cannot be read, is not YAML (with its line), names a key twice, or is no mapping.
    """
    path = Path(path)
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except OSError as e:
        raise UserError(f"cannot read the config: {e.strerror}", where=path) from e
    except UnicodeDecodeError as e:
        raise UserError(f"not UTF-8 text: byte {e.start}", where=path) from None
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        line = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise UserError(f"not valid YAML: {getattr(e, 'problem', e)}", where=line) from None
    if not isinstance(data, Mapping):
        raise UserError("a config is a mapping with `datasets` and `models`", where=path)
    return data


def load_config(path: str | Path) -> Config:
    """The config in one YAML file.

    Raises:
        UserError: as `read_yaml` and `parse_config`.
    """
    return parse_config(read_yaml(path), where=str(path))


def schema_json() -> str:
    """config/schema.json, from the models."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_json(), end="")
