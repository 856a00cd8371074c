from termdepth.config import parse_config
from termdepth.data import TABLES, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.listing import list_tasks

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    rows = list_tasks(config, dataset)
    for row in rows:
        if row["left_out"]:
            log.detail(f"{row['task']}: {row['left_out']}")
    listed = sum(row["order"] is not None for row in rows)
    why = "" if listed == len(rows) else f"; why not the others: {snakemake.log[0]}"
    log.say(f"  {dataset.name}: {len(rows)} tasks found, {listed} to sample from{why}")
    write_table(rows, TABLES["tasks"], snakemake.output.tasks)
