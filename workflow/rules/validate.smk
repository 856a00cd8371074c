rule validate_task:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        images=f"{RESULTS}/images/{{dataset}}/{{batch}}.parquet",
    output:
        admission=f"{RESULTS}/admission/{{dataset}}/{{batch}}.parquet",
    log:
        f"{RESULTS}/logs/validate_task/{{dataset}}.{{batch}}.log",
    params:
        spec=validate_spec,
    message:
        "Validating the tasks of {wildcards.dataset}, batch {wildcards.batch}: oracle and no-op"
    script:
        "../scripts/validate_task.py"


checkpoint collect_wave:
    input:
        lambda w: expand(
            f"{RESULTS}/admission/{w.dataset}/{{batch}}.parquet",
            batch=batches_of_wave(w.dataset, int(w.wave)),
        ),
    output:
        wave=f"{RESULTS}/admission/{{dataset}}/wave-{{wave}}.parquet",
    log:
        f"{RESULTS}/logs/collect_wave/{{dataset}}.{{wave}}.log",
    params:
        spec=lambda w: spec("collect", batches=batches_of_wave(w.dataset, int(w.wave))),
    message:
        "Collecting what was validated of {wildcards.dataset}, wave {wildcards.wave}"
    script:
        "../scripts/collect_wave.py"


checkpoint admit_tasks:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        waves=lambda w: waves_of(w.dataset),
    output:
        admission=f"{RESULTS}/admission/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/admit_tasks/{{dataset}}.log",
    params:
        spec=lambda w: spec(
            "admit",
            dataset=dataset_spec(w.dataset, "sample"),
            tasks={
                r["task"]: r["left_out"] or r["digest"] for r in found_in(w.dataset)
            },
        ),
    message:
        "Admitting the tasks of {wildcards.dataset}"
    script:
        "../scripts/admit_tasks.py"
