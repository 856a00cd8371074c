rule run_uncapped:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
    output:
        runs=f"{RESULTS}/measure/{{dataset}}/{{batch}}.uncapped.runs.parquet",
        turns=f"{RESULTS}/measure/{{dataset}}/{{batch}}.uncapped.turns.parquet",
    log:
        f"{RESULTS}/logs/run_uncapped/{{dataset}}.{{batch}}.log",
    # What measures D goes first: the longest chain of jobs hangs on it, and evaluations and replays fill what is left.
    priority: 10
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=uncapped_spec,
        phase="uncapped",
    message:
        "Running {wildcards.dataset}, batch {wildcards.batch}, without a cap"
    script:
        "../scripts/run_phase.py"


rule probe_caps:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
        before=f"{RESULTS}/measure/{{dataset}}/{{batch}}.uncapped.runs.parquet",
    output:
        runs=f"{RESULTS}/measure/{{dataset}}/{{batch}}.probe.runs.parquet",
        turns=f"{RESULTS}/measure/{{dataset}}/{{batch}}.probe.turns.parquet",
    log:
        f"{RESULTS}/logs/probe_caps/{{dataset}}.{{batch}}.log",
    priority: 10
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=probe_spec,
        phase="probe",
    message:
        "Probing the caps of {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/run_phase.py"


rule probe_second_model:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
        before=[
            f"{RESULTS}/measure/{{dataset}}/{{batch}}.uncapped.runs.parquet",
            f"{RESULTS}/measure/{{dataset}}/{{batch}}.probe.runs.parquet",
        ],
    output:
        runs=f"{RESULTS}/measure/{{dataset}}/{{batch}}.second.runs.parquet",
        turns=f"{RESULTS}/measure/{{dataset}}/{{batch}}.second.turns.parquet",
    log:
        f"{RESULTS}/logs/probe_second_model/{{dataset}}.{{batch}}.log",
    priority: 10
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=second_spec,
        phase="second",
    message:
        "Probing smaller caps of {wildcards.dataset}, batch {wildcards.batch}, with the second model"
    script:
        "../scripts/run_phase.py"


rule estimate_depth:
    input:
        tasks=f"{RESULTS}/tasks/{{dataset}}.parquet",
        admission=f"{RESULTS}/admission/{{dataset}}.parquet",
        runs=lambda w: measured(w.dataset, "runs"),
    output:
        depth=f"{RESULTS}/depth/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/estimate_depth/{{dataset}}.log",
    priority: 10
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=lambda w: spec(
            "estimate",
            protocol=CONFIG.protocol.model_dump(mode="json"),
            second=CONFIG.role("second") is not None,
        ),
    message:
        "Estimating the depth of the tasks of {wildcards.dataset}"
    script:
        "../scripts/estimate_depth.py"
