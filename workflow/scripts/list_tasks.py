from termdepth.config import parse_config
from termdepth.data import TABLES, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.prepare import list_tasks

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    rows = list_tasks(config.dataset(snakemake.wildcards.dataset))
    for row in rows:
        if row["problem"]:
            log.detail(f"{row['task']}: {row['problem']}")
    write_table(rows, TABLES["tasks"], snakemake.output.tasks)
