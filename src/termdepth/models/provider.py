"""The scripted models as a LiteLLM provider: `scripted/merge`, `scripted/step`, `scripted/blind`, `scripted/flaky-P`.

The call's `seed` parameter (in Harbor: `llm_call_kwargs={"seed": N}`) decides where a flaky model errs.
"""

from __future__ import annotations

import os
from typing import Any

from termdepth.models.plan import load_plans
from termdepth.models.scripted import Reply, parse_habit, reply

PROVIDER = "scripted"


def is_scripted(model: str) -> bool:
    """Whether a LiteLLM model name is one of ours: it needs no key, no network and costs nothing."""
    return model.startswith(f"{PROVIDER}/")


def register() -> None:
    """Make LiteLLM know the provider. Cheap to repeat; other custom providers stay.

    Raises:
        UserError: when the plans cannot be read, before any model is called.
    """
    load_plans()
    # Without it the import asks the network for prices.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm
    from litellm.utils import custom_llm_setup

    if any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
        return
    litellm.custom_provider_map = [
        *litellm.custom_provider_map,
        {"provider": PROVIDER, "custom_handler": _handler()},
    ]
    custom_llm_setup()  # else the provider is known only after the first asynchronous call


def _handler() -> Any:
    import litellm
    from litellm.types.utils import Choices, Message, PromptTokensDetailsWrapper, Usage

    def respond(model: str, answer: Reply) -> Any:
        return litellm.ModelResponse(
            model=f"{PROVIDER}/{model}",
            object="chat.completion",
            choices=[
                Choices(index=0, finish_reason="stop", message=Message(role="assistant", content=answer.text)),
            ],
            usage=Usage(
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                total_tokens=answer.prompt_tokens + answer.completion_tokens,
                prompt_tokens_details=PromptTokensDetailsWrapper(cached_tokens=answer.cached_tokens),
            ),
        )

    class Scripted(litellm.CustomLLM):  # type: ignore[misc]
        def completion(self, model: str, messages: list[Any], *_: Any, **options: Any) -> Any:
            seed = (options.get("optional_params") or {}).get("seed")
            return respond(model, reply(messages, parse_habit(model), seed))

        async def acompletion(self, *args: Any, **options: Any) -> Any:
            return self.completion(*args, **options)

    return Scripted()
