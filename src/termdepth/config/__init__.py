"""The config: typed, checked before anything runs."""

from termdepth.config.load import load_config, parse_config
from termdepth.config.models import Config, Dataset, ModelEntry

__all__ = ["Config", "Dataset", "ModelEntry", "load_config", "parse_config"]
