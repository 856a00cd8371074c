# Before anything is read: is the library there, and is the config YAML? Snakemake's own words name neither file nor line.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

try:
    from termdepth.config.load import read_yaml
    from termdepth.errors import UserError
except ImportError as e:
    raise WorkflowError(
        f"{e}. Set up first: `make setup`, then `. .venv/bin/activate`."
    )

if Path("config/config.yaml").is_file():
    try:
        read_yaml("config/config.yaml")
    except UserError as e:
        sys.exit(f"termdepth: {e}")
