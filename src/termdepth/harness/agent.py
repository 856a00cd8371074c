"""terminus-2 with segments in one conversation, a stated cap over all of them, and a bound on everything that can loop.

The only module that uses private parts of Harbor. `HARBOR_VERSION` pins them: importing this against another version fails
with the version in the message, and tests/unit/test_agent_pin.py fails before that.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import shlex
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, override

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # before litellm: no network, no warning

from harbor.agents.terminus_2 import terminus_2 as _terminus
from harbor.agents.terminus_2.terminus_2 import Command, Terminus2, Terminus2Options
from harbor.agents.terminus_2.tmux_session import TmuxSession
from harbor.environments.base import BaseEnvironment
from harbor.llms.base import BaseLLM, LLMResponse, OutputLengthExceededError
from harbor.llms.chat import Chat
from harbor.llms.lite_llm import LiteLLM
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Step
from pydantic import Field

from termdepth.errors import UserError
from termdepth.harness import texts
from termdepth.harness.redact import redact

HARBOR_VERSION = "0.26.0"
METADATA_KEY = "termdepth"
MAX_EMPTY_REPLIES = 3
RETRY_WAITS = (1.0, 3.0, 9.0)
"""Seconds before each further try of a request that failed for a reason that may pass. LiteLLM's client itself tries once:
its tries inside Harbor's would make a provider that hangs cost nine request timeouts."""
_PROMPT_WAIT_SECONDS = 10.0
_FALLBACK_FAILED = "Technical difficulties."  # how terminus-2 begins the reply it makes up when no request came through

if version("harbor") != HARBOR_VERSION:
    raise UserError(
        f"harbor {version('harbor')} is installed, but the harness is pinned to {HARBOR_VERSION}",
        hint="run `make setup`, which installs the locked dependencies",
    )

# What checks stand on, made whole as root: the agent may have removed the working folder, without which no command starts,
# put something else in the place of the folders for tests and rewards, or filled the disk. Its failed run would then be one
# without a verdict.
_READY_FOR_CHECKS = """\
[ -d {workdir} ] || mkdir -p {workdir}
for d in /logs/verifier /tests; do [ -d $d ] && [ ! -L $d ] || {{ rm -rf $d; mkdir -p $d; }}; done
rm -rf /logs/verifier/reward.txt /logs/verifier/reward.json
chmod 777 /logs/verifier
head -c 1048576 /dev/zero >/tests/.room || exit 126
rm -f /tests/.room"""


class SegmentedOptions(Terminus2Options):  # type: ignore[misc]  # harbor ships no types
    """What the pipeline sets, beside terminus-2's own options."""

    parts: int = Field(default=1, description="Segments of the task.")
    cap: int | None = Field(default=None, description="Stated turn cap over all segments.")
    turn_limit: int = Field(default=150, description="Turns without a cap.")
    time_limit_sec: float = Field(default=1800.0, description="Time limit over all segments.")
    output_bytes: int = Field(default=10_000, description="Bytes of output a turn shows: its first and last halves.")
    max_wait_sec: float = Field(default=60.0, description="Longest wait after a command.")
    max_compressions: int = Field(default=20, description="Context compressions before the run ends.")
    freeze: bool = Field(default=False, description="Stop the agent's processes while the checks run.")


class _Stop(BaseException):
    """Ends the agent's loop with a reason; never leaves this module. Not an Exception: terminus-2 swallows those."""

    def __init__(self, reason: str, error: str | None = None) -> None:
        self.reason, self.error = reason, error


class _Session(TmuxSession):  # type: ignore[misc]  # harbor ships no types
    """terminus-2's session with the history it asks for too late: tmux gives a window the limit that holds when it is made,
    2,000 lines. After a longer output the agent would see the last screen only, or, when what it saw before was a bare
    prompt, which is found again at the very end, nothing at all."""

    HISTORY_LINES = 50_000  # 8 MB of full lines, captured after each turn

    @property
    @override
    def _tmux_start_session(self) -> str:
        first, _, rest = str(super()._tmux_start_session).partition("tmux new-session")
        return f"{first}tmux start-server \\; set-option -g history-limit {self.HISTORY_LINES} \\; new-session{rest}"

    @override
    async def _find_new_content(self, current_buffer: str) -> str | None:
        if current_buffer.count("\n") < 0.9 * self.HISTORY_LINES:  # tmux drops a tenth when it is full
            return await super()._find_new_content(current_buffer)  # type: ignore[no-any-return]
        # The start of what was there before is gone. A long end of it is found again if it is still there; a short one
        # would be found in the wrong place.
        before = (self._previous_buffer or "").strip().split("\n")[-100:]
        at = current_buffer.find("\n".join(before)) if len(before) > 40 else -1
        return current_buffer if at < 0 else current_buffer[at + sum(len(line) + 1 for line in before[:-1]) :]


_terminus.TmuxSession = _Session


class SegmentedTerminus2(Terminus2):  # type: ignore[misc]  # harbor ships no types
    """terminus-2, its prompts, parser and context compression unchanged, run over the segments of a task (App. B)."""

    capabilities = Terminus2.capabilities.model_copy(update={"resume": True})
    options_model = SegmentedOptions
    options: SegmentedOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._confirming = False
        self._part = 0
        self._turn_rows: list[dict[str, Any]] = []
        self._stop: _Stop | None = None
        self._deadline: float | None = None
        self._finish_reason: str | None = None
        self._usage: Any = None
        self._empty_replies = 0
        self._compressions = 0
        self._instructions: list[str] = []
        self._limited = ""
        self._workdir = "/"
        self._call_error: Exception | None = None
        super().__init__(*args, **kwargs)

    # terminus-2 asks once whether the agent is sure. Before the last segment that would cost a turn a segment, so there it
    # counts as asked. The base class assigns this attribute, hence the property.
    @property
    def _pending_completion(self) -> bool:
        return self._confirming or self._part < self.options.parts

    @_pending_completion.setter
    def _pending_completion(self, value: bool) -> None:
        self._confirming = value

    @override
    def _init_llm(self, *args: Any, **kwargs: Any) -> BaseLLM:
        llm = super()._init_llm(*args, **kwargs)
        extract, once = llm._extract_usage_info, LiteLLM.call.__wrapped__

        def keep(response: Any) -> Any:  # Harbor's LLMResponse drops the finish reason
            self._finish_reason = response.choices[0].finish_reason
            self._usage = extract(response)
            return self._usage

        async def call(*args: Any, **kwargs: Any) -> LLMResponse:
            timeouts = 0  # a provider that hangs costs a long wait each time: it gets two tries, not four
            for wait in (*RETRY_WAITS, None):
                try:
                    response = await once(llm, *args, max_retries=0, **kwargs)
                    response.content = _encodable(response.content)
                    return response
                except OutputLengthExceededError as e:  # plain terminus-2 asks again without bound, inside one turn
                    return LLMResponse(
                        content=_encodable(e.truncated_response or ""), model_name=self._model_name, usage=self._usage
                    )
                except Exception as e:
                    self._call_error = e
                    timeouts += type(e).__name__ == "Timeout"
                    if wait is None or timeouts > 1 or not _may_pass(e):
                        raise
                    await asyncio.sleep(wait)
            raise AssertionError("not reached")

        llm._extract_usage_info = keep
        llm.call = call
        return llm

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        await super().setup(environment)
        self._workdir = ((await environment.exec("pwd")).stdout or "").strip() or "/"
        await _wait_for_prompt(self._session)

    # --- segments

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        self._part, self._deadline = 1, time.monotonic() + self.options.time_limit_sec
        self._instructions = [instruction]
        if self.options.parts == 1:
            first = texts.single_instruction(instruction, self.options.cap)
        else:
            first = texts.first_part(instruction, self.options.parts, self.options.cap)
        await self._segment(super().run(first, environment, context), environment, context)

    async def resume(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """The next segment: same conversation, same terminal. Called by Harbor's Trial when the checks passed."""
        self._part += 1
        self._instructions.append(instruction)
        self._reset_per_run_state()
        self._context = context
        await self._segment(self._continue(instruction, environment), environment, context)

    async def _continue(self, instruction: str, environment: BaseEnvironment) -> None:
        if self.options.freeze:
            await environment.thaw()
        chat = self._chat
        # Harbor adds up the segments itself, so the counters start again with each.
        chat._cumulative_input_tokens = chat._cumulative_output_tokens = chat._cumulative_cache_tokens = 0
        chat._cumulative_cost = 0.0
        prompt = texts.next_part(
            instruction,
            self._part,
            self.options.parts,
            screen=self._limit_output_length(await self._session.capture_pane()),
            used=len(self._turn_rows),
            cap=self.options.cap,
        )
        self._trajectory_steps.append(
            Step(step_id=1, source="user", message=prompt, timestamp=datetime.now(UTC).isoformat())
        )
        try:
            await self._run_agent_loop(prompt, chat, instruction)
        finally:
            extra = self._subagent_metrics
            self._context.n_input_tokens = chat.total_input_tokens + extra.total_prompt_tokens
            self._context.n_output_tokens = chat.total_output_tokens + extra.total_completion_tokens
            self._context.n_cache_tokens = chat.total_cache_tokens + extra.total_cached_tokens
            self._context.cost_usd = (chat.total_cost + extra.total_cost_usd) or None
            self._dump_trajectory()

    async def _segment(self, work: Awaitable[None], environment: BaseEnvironment, context: AgentContext) -> None:
        """Run one segment's conversation to its end, whatever that is, and leave the record in the context.

        Returns normally for every end but a cancellation, so that the state is verified as it is.
        """
        first_row, started, seconds = len(self._turn_rows), time.monotonic(), 0.0
        try:
            try:
                async with asyncio.timeout_at(_loop_time(self._deadline)) as limit:
                    await work
            except _Stop as stop:
                self._stop = stop
            except TimeoutError as e:
                self._stop = _Stop("time_limit") if limit.expired() else _Stop(*_classify(e))
            except Exception as e:
                self._stop = _Stop(*_classify(e))
            seconds = time.monotonic() - started
            await self._make_ready_for_checks(environment)
        except asyncio.CancelledError:
            self._stop = self._stop or _Stop("infrastructure_error", "cancelled from outside")
            seconds = time.monotonic() - started
            raise
        finally:
            self._context = self._context or context
            used = self._usage
            context.metadata = {
                **(context.metadata or {}),
                METADATA_KEY: {
                    "part": self._part,
                    "stop": self._stop.reason if self._stop else "completed",
                    "error": self._stop.error if self._stop else None,
                    "turns_total": len(self._turn_rows),
                    "turns": self._turn_rows[first_row:],
                    "compressions": self._compressions,
                    "context_tokens": used and used.prompt_tokens + used.completion_tokens,
                    "seconds": seconds,
                },
            }

    async def _make_ready_for_checks(self, environment: BaseEnvironment) -> None:
        """Mend what checks stand on; freeze the agent's processes if asked. Trouble here is trouble that the agent made."""
        command = _READY_FOR_CHECKS.format(workdir=shlex.quote(self._workdir))
        try:
            result = await environment.exec(command, cwd="/", user="root")
            if self.options.freeze:
                await environment.freeze()
                result = await environment.exec(command, cwd="/", user="root")
            trouble = (
                f"checks cannot run in the container any more: {result.stderr}"
                if result.return_code in (126, 127)
                else None
            )
        except Exception as e:
            reason, trouble = _classify(e)
            if reason != "session_broken":
                self._stop = self._stop or _Stop(reason, trouble)
                return
        if trouble and (self._stop is None or self._stop.reason == "infrastructure_error"):
            self._stop = _Stop("session_broken", redact(trouble))

    @override
    async def _run_agent_loop(self, initial_prompt: str, chat: Chat, original_instruction: str = "") -> None:
        if self._stop:  # an earlier segment ended the run
            return
        limit = self.options.turn_limit if self.options.cap is None else self.options.cap
        self._max_episodes = max(0, limit - len(self._turn_rows))
        self._completed = False
        # A compression must know every part given so far, not only the last.
        given = texts.given_so_far(self._instructions, self.options.parts, self.options.cap)
        await super()._run_agent_loop(initial_prompt, chat, given)
        if self._completed:
            return
        if not await self._session.is_session_alive():
            raise _Stop("session_broken")
        raise _Stop("turn_limit" if self.options.cap is None else "turn_cap")

    # --- one turn

    @override
    async def _handle_llm_interaction(
        self, chat: Chat, prompt: str, original_instruction: str = "", session: TmuxSession | None = None
    ) -> tuple[list[Command], bool, str, str, str, LLMResponse]:
        self._finish_reason, started, before = None, time.monotonic(), self._usage
        reply = await super()._handle_llm_interaction(chat, prompt, original_instruction, session)
        commands, complete, feedback, analysis, plan, response = reply
        analysis, plan = _encodable(analysis), _encodable(plan)
        for command in commands:
            command.keystrokes = _encodable(command.keystrokes)
        usage = response.usage
        if usage is None and response.model_name is None and (response.content or "").startswith(_FALLBACK_FAILED):
            # No reply, so no turn: the context was compressed and the request failed even so.
            raise _Stop(*_classify(self._call_error or RuntimeError("no reply")))
        row = {
            "turn": len(self._turn_rows) + 1,
            "segment": self._part,
            "model_seconds": time.monotonic() - started,
            "terminal_seconds": None,
            "wait_seconds": 0.0,
            "commands": len(commands),
            "command_lines": _lines(c.keystrokes for c in commands),
            "complete": bool(complete),
            "parse_error": "ERROR:" in feedback,
            "input_tokens": usage.prompt_tokens if usage else None,
            "output_tokens": usage.completion_tokens if usage else None,
            "finish_reason": self._finish_reason,
        }
        self._turn_rows.append(row)
        self._usage = usage or before
        if self._finish_reason in ("content_filter", "refusal"):
            raise _Stop("refused", "the provider stopped the reply")
        self._empty_replies = 0 if (response.content or "").strip() else self._empty_replies + 1
        if self._empty_replies >= MAX_EMPTY_REPLIES:
            raise _Stop("empty_response", f"{MAX_EMPTY_REPLIES} empty replies in a row")
        if self._finish_reason == "length":  # a reply that was cut off is never acted on
            row["parse_error"] = True
            return [], False, f"ERROR: {texts.CUT_OFF}", "", "", response
        self._completed = bool(complete) and self._pending_completion and not row["parse_error"]
        return commands, complete, feedback, analysis, plan, response

    @override
    async def _query_llm(
        self, chat: Chat, prompt: str, original_instruction: str = "", session: TmuxSession | None = None
    ) -> LLMResponse:
        """terminus-2's own request, with its way out of a full context, but without its three tries around everything."""
        started = time.time()
        try:
            once = Terminus2._query_llm.__wrapped__
            return await once(self, chat, prompt, original_instruction, session)
        finally:
            self._track_api_request_time(started)

    @override
    async def _execute_commands(self, commands: list[Command], session: TmuxSession) -> tuple[bool, str]:
        for command in commands:
            wait = command.duration_sec
            command.duration_sec = min(wait, self.options.max_wait_sec) if math.isfinite(wait) and wait > 0 else 0.0
        row, started = self._turn_rows[-1], time.monotonic()
        try:
            return await super()._execute_commands(commands, session)  # type: ignore[no-any-return]
        except RuntimeError as e:  # an `exit` in the middle of a batch: plain terminus-2 loses the turn
            if "failed to send" not in str(e):
                raise
            self._completed = False
            return False, texts.SESSION_ENDED
        finally:
            row["terminal_seconds"] = time.monotonic() - started
            row["wait_seconds"] = sum(c.duration_sec for c in commands)

    @override
    def _limit_output_length(self, output: str, max_bytes: int | None = None) -> str:
        # terminus-2 limits twice; the second time would cut out the note of the first, and with it how much is missing.
        if output and output == self._limited:
            return output
        self._limited = str(super()._limit_output_length(output, max_bytes or self.options.output_bytes))
        return self._limited

    # --- context compression, bounded

    @override
    async def _check_proactive_summarization(self, chat: Chat, *args: Any) -> Any:
        """Before the first turn there is nothing to compress; terminus-2 would put the bare instruction for its prompt."""
        return await super()._check_proactive_summarization(chat, *args) if chat.messages else None

    @override
    async def _summarize(self, chat: Chat, original_instruction: str, session: TmuxSession) -> Any:
        self._compressions += 1
        if self._compressions > self.options.max_compressions:
            raise _Stop("context_overflow", f"the context was compressed {self.options.max_compressions} times")
        return await super()._summarize(chat, original_instruction, session)

    @override
    def _count_total_tokens(self, chat: Chat) -> int:
        """The provider's own count while it is far from the limit: counting every message anew costs time in each turn."""
        used = self._usage and self._usage.prompt_tokens + self._usage.completion_tokens
        if used and used < (self._llm.get_model_context_limit() - self.options.proactive_summarization_threshold) / 2:
            return int(used)
        return super()._count_total_tokens(chat)  # type: ignore[no-any-return]


def _loop_time(deadline: float | None) -> float:
    return asyncio.get_running_loop().time() + max(0.0, (deadline or 0.0) - time.monotonic())


def _encodable(text: Any) -> Any:
    """Text that UTF-8 can hold: JSON can carry half of a surrogate pair, on which sending and writing would fail."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def _lines(keystrokes: Any) -> int:
    """Non-blank lines of the commands sent, file content included (App. D, W of TMax)."""
    return sum(bool(line.strip()) for keys in keystrokes for line in keys.splitlines())


# Names of exceptions, so that LiteLLM's and the backends' modules need not be imported for them.
_UNAVAILABLE = {"AuthenticationError", "PermissionDeniedError", "NotFoundError"}
_UNAVAILABLE_WORDS = ("LLM Provider NOT provided", "Missing credentials")  # LiteLLM's own, before it calls anybody
_REFUSED = {"ContentPolicyViolationError"}
_OVERFLOW = {"ContextLengthExceededError", "ContextWindowExceededError"}
# LiteLLM's "litellm.InternalServerError: InternalServerError: OpenAIException - " before what the provider said.
_WRAPPINGS = re.compile(r"^(?:(?:litellm\.)?[A-Za-z_]+(?:Error|Exception|Timeout)(?:: | - ))+")
_CONTAINER_ENDED = {"ContainerGone", "SandboxError"}  # by what ran in it: the engine and its host still answer


def _classify(error: Exception) -> tuple[str, str]:
    """An exception of the conversation as (stop reason, one line without keys)."""
    name = type(error).__name__
    said = _WRAPPINGS.sub("", str(error))
    text = redact(f"{name}: {said}" if said else name)
    if name in _OVERFLOW:
        return "context_overflow", text
    if name in _REFUSED:
        return "refused", text
    if name in _UNAVAILABLE or any(words in text for words in _UNAVAILABLE_WORDS):
        return "model_unavailable", text
    if name in _CONTAINER_ENDED:
        return "session_broken", text
    return "infrastructure_error", text


def _may_pass(error: Exception) -> bool:
    """Whether a failed request is worth another try."""
    if type(error).__name__ in ("BadRequestError", "UnprocessableEntityError"):
        return False
    return _classify(error)[0] == "infrastructure_error"


async def _wait_for_prompt(session: TmuxSession) -> None:
    """Wait until the shell shows its prompt, so that the first screen does not depend on the machine's load."""
    end = time.monotonic() + _PROMPT_WAIT_SECONDS
    while not (await session.capture_pane()).strip() and time.monotonic() < end:  # noqa: ASYNC110 - nothing to wait on
        await asyncio.sleep(0.02)


def prompt_template() -> str:
    """terminus-2's prompt, as this version of Harbor ships it."""
    return (Path(_terminus.__file__).parent / "templates" / "terminus-json-plain.txt").read_text()
