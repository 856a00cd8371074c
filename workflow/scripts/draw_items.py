from pathlib import Path

from termdepth.config import parse_config
from termdepth.data import read_frame
from termdepth.pipeline.job import job
from termdepth.report.context import ReportContext
from termdepth.report.registry import ITEMS
from termdepth.report.render import render

with job(snakemake):
    config = parse_config(snakemake.config, where="config")
    context = ReportContext.from_config(config)
    frames = {Path(path).stem: read_frame(path) for path in snakemake.input}
    for name in snakemake.params.names:
        item = ITEMS[name]
        render(item, frames, context, config.results / f"{item.kind}s" / name)
