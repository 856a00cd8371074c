rule validate_task:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        images=f"{RESULTS}/images/{{dataset}}/{{batch}}.parquet",
    output:
        admission=f"{RESULTS}/admission/{{dataset}}/{{batch}}.parquet",
    params:
        spec=validate_spec,
    log:
        f"{RESULTS}/logs/validate_task/{{dataset}}.{{batch}}.log",
    message:
        "Validating the tasks of {wildcards.dataset}, batch {wildcards.batch}: oracle and no-op"
    script:
        "../scripts/validate_task.py"


checkpoint admit_tasks:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=lambda w: expand(
            f"{RESULTS}/admission/{w.dataset}/{{batch}}.parquet", batch=batches_of(w.dataset)
        ),
    output:
        admission=f"{RESULTS}/admission/{{dataset}}.parquet",
    params:
        spec=lambda w: spec("validate", dataset=dataset_spec(w.dataset, "sample"), batches=batches_of(w.dataset)),
    log:
        f"{RESULTS}/logs/admit_tasks/{{dataset}}.log",
    message:
        "Admitting the tasks of {wildcards.dataset}"
    script:
        "../scripts/admit_tasks.py"
