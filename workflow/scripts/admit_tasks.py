from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, read_tables, write_table
from termdepth.pipeline.batches import admission_table
from termdepth.pipeline.job import job
from termdepth.pipeline.prepare import check_replacements

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    checked = check_replacements(
        config,
        dataset,
        tasks,
        read_tables(snakemake.input.admission, TABLES["admission"]),
        threads=snakemake.threads,
        say=log.say,
    )
    rows = admission_table(tasks, checked, dataset.sample)
    admitted = sum(row["admitted"] for row in rows)
    log.say(f"  {dataset.name}: {admitted} of {len(rows)} tasks admitted")
    if dataset.sample != "all" and admitted < dataset.sample:
        log.say(f"  {dataset.name}: fewer than the {dataset.sample} asked for: the list has no more")
    write_table(rows, TABLES["admission"], snakemake.output.admission)
