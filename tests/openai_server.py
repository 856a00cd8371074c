"""A small server that speaks OpenAI's chat-completions protocol over real HTTP, with replies that a test writes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "sk-test-0123456789abcdefSECRET"  # made up; tests look for it in everything that is written


@dataclass(frozen=True)
class Answer:
    """One HTTP response. hang: seconds before anything is sent."""

    content: str | None = ""
    finish: str = "stop"
    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)
    hang: float = 0.0
    prompt_tokens: int | None = None


def turn(*keystrokes: str, done: bool = False, duration: float = 0.1, **how: Any) -> Answer:
    """A reply in terminus-2's JSON: each of `keystrokes` is a command, Enter is added."""
    commands = [{"keystrokes": k + "\n", "duration": duration} for k in keystrokes]
    reply = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return Answer(json.dumps(reply), **how)


def failure(status: int, message: str = "it broke", code: str | None = None, kind: str = "server_error") -> Answer:
    """An error response in OpenAI's form."""
    return Answer(status=status, error={"message": message, "type": kind, "code": code, "param": None})


Script = Callable[[list[dict[str, Any]], int], Answer]


class OpenAIServer:
    """Answers with `script(messages, number of the request from 1)`; records what it was sent.

    A sequence stands for its items in order, the last one again and again.
    """

    def __init__(self, script: Script | Sequence[Answer]) -> None:
        self.script: Script = script if callable(script) else lambda _, n: script[min(n, len(script)) - 1]
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append(body)
                    outer.times.append(time.monotonic())
                    number = len(outer.requests)
                answer = outer.script(body["messages"], number)
                outer._closing.wait(answer.hang)
                status, data = answer.status, outer.body(answer, body)
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client gave up

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @staticmethod
    def body(answer: Answer, request: dict[str, Any]) -> bytes:
        if answer.status != 200:
            return json.dumps({"error": answer.error}).encode()
        sent = answer.prompt_tokens or sum(len(str(m["content"])) for m in request["messages"]) // 4
        got = len(answer.content or "") // 4 + 1
        return json.dumps(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": request["model"],
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": answer.finish,
                        "message": {"role": "assistant", "content": answer.content},
                    }
                ],
                "usage": {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
            }
        ).encode()

    def prompts(self) -> list[str]:
        """The last message of each request: what the model was told in that turn."""
        return [str(r["messages"][-1]["content"]) for r in self.requests]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
