rule collect_results:
    input:
        tables=collected,
        # Named here although `collected` asks the checkpoint: Snakemake looks anew at what follows a checkpoint only where the
        # job depends on it directly.
        admission=[f"{RESULTS}/admission/{d}.parquet" for d in DATASETS],
    output:
        table=f"{RESULTS}/data/{{table}}.parquet",
    log:
        f"{RESULTS}/logs/collect_results/{{table}}.log",
    wildcard_constraints:
        table="tasks|admission|depth|runs|turns|replays|merged",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=lambda w: spec("collect", datasets=DATASETS),
    message:
        "Collecting the table {wildcards.table}"
    script:
        "../scripts/collect_results.py"


rule read_public_results:
    input:
        files_of(f for p in CONFIG.public_results for f in (p.trials, p.tasks)),
    output:
        rates=f"{RESULTS}/data/public_pass_rates.parquet",
    log:
        f"{RESULTS}/logs/read_public_results.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=public_spec,
    message:
        "Reading published results"
    script:
        "../scripts/read_public_results.py"


for category in CATEGORIES:

    rule:
        name:
            f"draw_{category}"
        input:
            sorted(
                {
                    f"{RESULTS}/data/{table}.parquet"
                    for item in items_of(category)
                    for table in item.inputs
                    if table in TABLES
                }
            ),
        output:
            [
                report(
                    f"{RESULTS}/{item.kind}s/{item.name}{item.files[0]}",
                    caption=f"../report/{item.name}.rst",
                    category=item.category,
                    labels={"what": item.title},
                )
                for item in items_of(category)
            ],
            [
                f"{RESULTS}/{item.kind}s/{item.name}{suffix}"
                for item in items_of(category)
                for suffix in item.files[1:]
            ],
        log:
            f"{RESULTS}/logs/draw/{category}.log",
        conda:
            "../../envs/termdepth.yaml"
        params:
            spec=spec(
                "report",
                context=CONTEXT,
                paper=folder_signature(Path(workflow.basedir) / "resources/paper"),
            ),
            names=[item.name for item in items_of(category)],
        message:
            f"Drawing {CATEGORIES[category]}"
        script:
            "../scripts/draw_items.py"


rule write_provenance:
    input:
        runs=f"{RESULTS}/data/runs.parquet",
        admission=f"{RESULTS}/data/admission.parquet",
    output:
        report(
            f"{RESULTS}/provenance.md",
            caption="../report/provenance.rst",
            category="7 How the numbers were made",
            labels={"what": "Config, versions, harness, runs"},
        ),
    log:
        f"{RESULTS}/logs/write_provenance.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=lambda w: spec("provenance", config=config),
    message:
        "Writing how the numbers were made"
    script:
        "../scripts/write_provenance.py"


rule build_explorer:
    input:
        **{table: f"{RESULTS}/data/{table}.parquet" for table in EXPLORED},
    output:
        pages=directory(f"{RESULTS}/explorer"),
    log:
        f"{RESULTS}/logs/build_explorer.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=spec("explorer", context=CONTEXT),
    message:
        "Building the pages of all tasks and runs"
    script:
        "../scripts/build_explorer.py"
