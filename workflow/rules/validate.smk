rule validate_task:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        images=f"{RESULTS}/images/{{dataset}}/{{batch}}.parquet",
    output:
        admission=f"{RESULTS}/admission/{{dataset}}/{{batch}}.parquet",
    log:
        f"{RESULTS}/logs/validate_task/{{dataset}}.{{batch}}.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=validate_spec,
    message:
        "Validating the tasks of {wildcards.dataset}, batch {wildcards.batch}: oracle and no-op"
    script:
        "../scripts/validate_task.py"


checkpoint admit_tasks:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=lambda w: expand(
            f"{RESULTS}/admission/{w.dataset}/{{batch}}.parquet",
            batch=first_batches_of(w.dataset),
        ),
    output:
        admission=f"{RESULTS}/admission/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/admit_tasks/{{dataset}}.log",
    conda:
        "../../envs/termdepth.yaml"
    resources:
        builds=1,
    params:
        spec=admit_spec,
    message:
        "Admitting the tasks of {wildcards.dataset}"
    script:
        "../scripts/admit_tasks.py"
