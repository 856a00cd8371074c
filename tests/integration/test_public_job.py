"""Published trials from a job that Harbor itself ran: terminus-2 with a model behind HTTP, and an agent that does nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness_lab import Part, write_task
from openai_server import KEY, OpenAIServer, turn
from termdepth.public import Trial, pass_rates, read_trials


@pytest.mark.sandbox
def test_a_job_that_harbor_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harbor.job import Job
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    tasks = [write_task(tmp_path / "tasks" / n, [Part()], toml=f"[task]\nname = 'org/{n}'\n") for n in ("a", "b")]
    # Task a: a command, then complete and confirmed. Task b: complete and confirmed without having done anything.
    with OpenAIServer([turn("touch done"), turn(done=True)]) as server:
        config = JobConfig(
            job_name="job",
            jobs_dir=tmp_path / "jobs",
            n_concurrent_trials=1,
            quiet=True,
            environment=EnvironmentConfig(
                import_path="termdepth.environments.sandbox.environment:SandboxEnvironment",
                kwargs={"cache_dir": str(tmp_path / "cache"), "auto_mounting": True},
            ),
            agents=[
                AgentConfig(
                    name="terminus-2",
                    model_name="openai/test",
                    kwargs={"api_base": server.url, "record_terminal_session": False},
                ),
                AgentConfig(name="nop"),
            ],
            tasks=[TaskConfig(path=task) for task in tasks],
        )

        async def run() -> None:
            await (await Job.create(config)).run()

        asyncio.run(run())
    notes: list[str] = []
    found = sorted(read_trials(tmp_path / "jobs", notes.append), key=lambda t: t.task)
    assert found == [Trial("a", "test", True, 3.0), Trial("b", "test", False, 2.0)]
    assert notes == [f"{tmp_path / 'jobs'}: 2 trials, 2 left out, without a result or a model"]
    table = tmp_path / "trials.csv"
    table.write_text("task,model,reward,turns\na,test,1,3\nb,test,0,2\n")
    assert pass_rates(tmp_path / "jobs" / "job", None, "d", "s") == pass_rates(table, None, "d", "s")
