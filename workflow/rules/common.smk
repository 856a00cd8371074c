from functools import cache

from snakemake.utils import validate

from termdepth.config import parse_config
from termdepth.data import TABLES, read_table
from termdepth.pipeline import batches
from termdepth.pipeline.ending import finish, forget_errors, show_errors
from termdepth.pipeline.spec import folder_signature, results_signature, spec
from termdepth.report.context import ReportContext
from termdepth.report.registry import CATEGORIES, ITEMS

try:
    CONFIG = parse_config(
        config, where=" + ".join(map(str, workflow.configfiles)) or "config"
    )
except UserError as e:
    sys.exit(f"termdepth: {e}".replace("\n", "\ntermdepth: "))

validate(config, Path(workflow.basedir) / "config/schema.json", set_default=False)

RESULTS = str(CONFIG.results)
DATASETS = [d.name for d in CONFIG.datasets]
BACKEND = [CONFIG.backend, CONFIG.sandbox_allowed]
PHASES = ["uncapped", "probe", *(["second"] if CONFIG.role("second") else [])]
EVALUATED = [m.id for m in CONFIG.evaluated]


wildcard_constraints:
    dataset="|".join(map(re.escape, DATASETS)),
    model="|".join(map(re.escape, (m.id for m in CONFIG.models))),
    batch=r"\d+",
    phase="uncapped|probe|second",


def found_in(dataset):
    """Every task found in a dataset, once it is listed."""
    return read_table(
        checkpoints.list_tasks.get(dataset=dataset).output.tasks, TABLES["tasks"]
    )


def tasks_of(dataset, batch=None):
    """The list that a dataset is sampled from, or one of its batches."""
    rows = [r for r in found_in(dataset) if r["order"] is not None]
    return [r for r in rows if batch is None or r["batch"] == int(batch)]


def first_batches_of(dataset):
    """The batches of the sample of a dataset and its reserve, once it is listed."""
    d = CONFIG.dataset(dataset)
    known = sorted({r["batch"] for r in tasks_of(dataset)})
    n = batches.n_first_batches(
        len(known), sample=d.sample, reserve=d.reserve, tasks_per_job=d.tasks_per_job
    )
    return known[:n]


def admitted_of(dataset, batch=None):
    """The admitted tasks of a dataset, or of one of its batches, once they are known."""
    path = checkpoints.admit_tasks.get(dataset=dataset).output.admission
    admitted = {
        r["task"] for r in read_table(path, TABLES["admission"]) if r["admitted"]
    }
    return [r for r in tasks_of(dataset, batch) if r["task"] in admitted]


def measured_batches_of(dataset):
    """Batches with an admitted task in them."""
    return sorted({r["batch"] for r in admitted_of(dataset)})


def dataset_spec(dataset, *keys):
    """The part of a dataset's block that a stage uses."""
    return CONFIG.dataset(dataset).model_dump(mode="json", include=set(keys))


IMAGE_KEYS = ("trusted", "base_images", "registry_mirror", "build_network")
CONTAINER_KEYS = (*IMAGE_KEYS, "network", "memory_mb", "cpus", "pids")


def list_spec(wildcards):
    dataset = CONFIG.dataset(wildcards.dataset)
    keys = "path registry kind tasks csv difficulty evidence groups sample seed reserve light needs_solution tasks_per_job"
    return spec(
        "tasks",
        dataset=dataset_spec(dataset.name, *keys.split()),
        folder=dataset.path and folder_signature(dataset.path),
        public=[
            published(p.trials)
            for p in CONFIG.public_results
            if p.dataset == dataset.name
        ],
    )


@cache
def published(trials):
    """Signature of a folder of published trials, as it was before any job read it."""
    return results_signature(trials)


def tables_of(dataset):
    """The user's tables that the tasks of a dataset are listed with."""
    own = CONFIG.dataset(dataset).csv
    trials = [p.trials for p in CONFIG.public_results if p.dataset == dataset]
    return [*([own.path] if own else []), *files_of(trials)]


def files_of(paths):
    """Those that can be inputs: of a folder Snakemake sees little; a spec has its signature."""
    return [path for path in paths if path and not path.is_dir()]


def public_spec(wildcards):
    return spec(
        "public",
        results=[
            {**p.model_dump(mode="json"), "folder": published(p.trials)}
            for p in CONFIG.public_results
        ],
    )


def digests(tasks):
    return {r["task"]: r["left_out"] or r["digest"] for r in tasks}


def judge_spec(tasks):
    """The judge, where it would be asked."""
    asked = CONFIG.judge is not None and any(r["light"] is None for r in tasks)
    return CONFIG.judge.model_dump(mode="json") if asked else None


def image_spec(wildcards):
    tasks = tasks_of(wildcards.dataset, wildcards.batch)
    return spec(
        "images",
        backend=BACKEND,
        dataset=dataset_spec(wildcards.dataset, *IMAGE_KEYS, "light"),
        judge=judge_spec(tasks),
        tasks=digests(tasks),
    )


def validate_spec(wildcards):
    return spec(
        "validate",
        backend=BACKEND,
        dataset=dataset_spec(wildcards.dataset, *CONTAINER_KEYS, "oracle_repeats"),
        tasks=digests(tasks_of(wildcards.dataset, wildcards.batch)),
    )


def admit_spec(wildcards):
    found = found_in(wildcards.dataset)
    keys = (*CONTAINER_KEYS, "light", "oracle_repeats", "sample")
    return spec(
        "admit",
        backend=BACKEND,
        dataset=dataset_spec(wildcards.dataset, *keys),
        judge=judge_spec(found),
        tasks=digests(found),
    )


def run_spec(wildcards, model, **depends):
    """Everything that a run of one model on a batch depends on."""
    from termdepth.pipeline.spec import knowledge_digest

    return spec(
        "measure",
        backend=BACKEND,
        dataset=dataset_spec(
            wildcards.dataset,
            *CONTAINER_KEYS,
            "time_limit_minutes",
            "time_limit_minutes_by_segments",
            "freeze_agent",
        ),
        harness=CONFIG.harness.model_dump(mode="json"),
        turn_limit=CONFIG.protocol.turn_limit,
        invalid_retries=CONFIG.protocol.invalid_retries,
        model=model and model.model_dump(mode="json", exclude={"roles", "title"}),
        knowledge=model and knowledge_digest(model),
        tasks={
            r["task"]: r["digest"]
            for r in admitted_of(wildcards.dataset, wildcards.batch)
        },
        **depends,
    )


def uncapped_spec(wildcards):
    return run_spec(wildcards, CONFIG.role("first"), runs=CONFIG.protocol.runs_uncapped)


def probe_spec(wildcards):
    return run_spec(
        wildcards,
        CONFIG.role("first"),
        caps=CONFIG.protocol.caps,
        runs=CONFIG.protocol.runs_per_cap,
    )


def second_spec(wildcards):
    return run_spec(
        wildcards,
        CONFIG.role("second"),
        caps=CONFIG.protocol.caps,
        runs=CONFIG.protocol.runs_per_cap,
    )


def evaluation_spec(wildcards):
    return run_spec(
        wildcards, CONFIG.model(wildcards.model), runs=CONFIG.protocol.runs_evaluation
    )


def replay_spec(wildcards):
    return spec(
        "replay",
        backend=BACKEND,
        dataset=dataset_spec(wildcards.dataset, *CONTAINER_KEYS),
        tasks={
            r["task"]: r["digest"]
            for r in admitted_of(wildcards.dataset, wildcards.batch)
        },
    )


def merge_spec(wildcards):
    from termdepth.pipeline.spec import knowledge_digest

    return spec(
        "merge",
        backend=BACKEND,
        dataset=dataset_spec(wildcards.dataset, *CONTAINER_KEYS, "merge"),
        knowledge=knowledge_digest(CONFIG.role("first")),
        tasks={
            r["task"]: r["digest"]
            for r in admitted_of(wildcards.dataset, wildcards.batch)
        },
    )


def merged_spec(wildcards):
    return run_spec(
        wildcards,
        CONFIG.role("first"),
        caps=CONFIG.protocol.caps,
        runs=CONFIG.protocol.runs_per_cap,
    )


def measured(dataset, table, phases=PHASES):
    """Files of `runs` or `turns` of the phases that measure D, of one dataset."""
    return [
        f"{RESULTS}/measure/{dataset}/{batch}.{phase}.{table}.parquet"
        for batch in measured_batches_of(dataset)
        for phase in phases
    ]


def evaluated(table):
    """Files of `runs` or `turns` of the evaluated models, of the datasets that ask for them."""
    return [
        f"{RESULTS}/evaluate/{d.name}/{batch}.{model}.{table}.parquet"
        for d in CONFIG.datasets
        if d.evaluate
        for model in EVALUATED
        for batch in measured_batches_of(d.name)
    ]


def replayed():
    """Files of `replays`, of the datasets that ask for them."""
    return [
        f"{RESULTS}/replays/{d.name}/{batch}.parquet"
        for d in CONFIG.datasets
        if d.replay
        for batch in measured_batches_of(d.name)
    ]


def merged(table):
    """Files of `merged`, or of `runs` or `turns` of merged tasks, of the datasets that ask for it."""
    return [
        f"{RESULTS}/merged/{d.name}/{batch}.{table}.parquet"
        for d in CONFIG.datasets
        if d.merge
        for batch in measured_batches_of(d.name)
    ]


CONTEXT = ReportContext.from_config(CONFIG).to_json()


def collected(w):
    """What is put together into one table of record."""
    if w.table in ("tasks", "admission", "depth"):
        return [f"{RESULTS}/{w.table}/{d}.parquet" for d in DATASETS]
    if w.table == "replays":
        return replayed()
    if w.table == "merged":
        return merged(w.table)
    return (
        [f for d in DATASETS for f in measured(d, w.table)]
        + evaluated(w.table)
        + merged(w.table)
    )


def items_of(category):
    return [item for item in ITEMS.values() if item.category == CATEGORIES[category]]


EXPLORED = ("tasks", "admission", "depth", "runs", "turns", "public_pass_rates")


def all_results():
    """Everything that `snakemake` makes."""
    return [
        *(
            f"{RESULTS}/data/{table}.parquet"
            for table in (
                "tasks",
                "admission",
                "depth",
                "runs",
                "turns",
                "replays",
                "merged",
            )
        ),
        *(
            f"{RESULTS}/{item.kind}s/{item.name}{suffix}"
            for item in ITEMS.values()
            for suffix in item.files
        ),
        f"{RESULTS}/provenance.md",
        f"{RESULTS}/explorer",
    ]
