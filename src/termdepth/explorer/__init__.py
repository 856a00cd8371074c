"""Static pages to look through the tasks and their runs, turn by turn. Offline: a page loads nothing."""

from termdepth.explorer.build import build
from termdepth.explorer.index import ExplorerData

__all__ = ["ExplorerData", "build"]
