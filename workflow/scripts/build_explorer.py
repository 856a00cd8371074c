from pathlib import Path

from termdepth.config import parse_config
from termdepth.data import TABLES, read_table
from termdepth.explorer import ExplorerData, build
from termdepth.pipeline.job import job
from termdepth.report.context import ReportContext

if __name__ == "__main__":  # the workers import this file again
    with job(snakemake):
        config = parse_config(snakemake.config, where="config")
        rows = {name: read_table(path, TABLES[name]) for name, path in snakemake.input.items()}
        build(
            ExplorerData(**rows),
            Path(snakemake.output.pages),
            title="termdepth",
            context=ReportContext.from_config(config),
            workers=snakemake.threads,
        )
