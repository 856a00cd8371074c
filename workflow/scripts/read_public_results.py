from termdepth.config import parse_config
from termdepth.data import TABLES, write_table
from termdepth.pipeline.job import job
from termdepth.public import pass_rates

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    rows = [
        row for p in config.public_results for row in pass_rates(p.trials, p.tasks, p.dataset, p.source, log.detail)
    ]
    write_table(rows, TABLES["public_pass_rates"], snakemake.output.rates)
