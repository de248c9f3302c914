"""Lets a provider's own SDK read streams, and prints what it made of them as a list in JSON.

usage: parse.py chat|responses|anthropic URL…
"""

import json
import sys


def chat(url):
    from openai import LengthFinishReasonError, OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    ask = [{"role": "user", "content": "hello"}]
    try:
        with client.chat.completions.stream(model="m", messages=ask, stream_options={"include_usage": True}) as stream:
            done = stream.get_final_completion()
    except LengthFinishReasonError as error:
        done = error.completion
    choice = done.choices[0]
    calls = choice.message.tool_calls or []
    prompt, completion = done.usage.prompt_tokens_details, done.usage.completion_tokens_details
    return {
        "text": choice.message.content or "",
        "thinking": None,
        "calls": [{"id": c.id, "name": c.function.name, "arguments": c.function.arguments} for c in calls],
        "stop": choice.finish_reason,
        "input": done.usage.prompt_tokens,
        "output": done.usage.completion_tokens,
        "cache_read": (prompt and prompt.cached_tokens) or 0,
        "cache_write": 0,
        "reasoning": (completion and completion.reasoning_tokens) or 0,
    }


def responses(url):
    from openai import OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    done = None
    # The events as they are: the SDK's own sum of them wants members that not every server sends.
    for event in client.responses.create(model="m", input="hello", stream=True):
        if event.type == "response.completed":
            done = event.response
    thinking = [part.text for item in done.output if item.type == "reasoning" for part in item.summary]
    calls = [item for item in done.output if item.type == "function_call"]
    usage = done.usage
    details = usage.output_tokens_details
    return {
        "text": done.output_text,
        "thinking": "".join(thinking) or None,
        "calls": [{"id": c.call_id, "name": c.name, "arguments": c.arguments} for c in calls],
        "stop": "tool_calls" if calls else "stop",
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": (usage.input_tokens_details and usage.input_tokens_details.cached_tokens) or 0,
        "cache_write": 0,
        "reasoning": (details and details.reasoning_tokens) or 0,
    }


def anthropic(url):
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="none", max_retries=0)
    ask = [{"role": "user", "content": "hello"}]
    with client.messages.stream(model="m", max_tokens=100, messages=ask) as stream:
        done = stream.get_final_message()
    text = [block.text for block in done.content if block.type == "text"]
    thinking = [block.thinking for block in done.content if block.type == "thinking"]
    calls = [block for block in done.content if block.type == "tool_use"]
    usage = done.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return {
        "text": "".join(text),
        "thinking": "".join(thinking) or None,
        "calls": [{"id": c.id, "name": c.name, "arguments": json.dumps(c.input)} for c in calls],
        "stop": done.stop_reason,
        # Its input does not count what came from the cache or went there.
        "input": usage.input_tokens + cached + written,
        "output": usage.output_tokens,
        "cache_read": cached,
        "cache_write": written,
        "reasoning": 0,
    }


READERS = {"chat": chat, "responses": responses, "anthropic": anthropic}
print(json.dumps([READERS[sys.argv[1]](url) for url in sys.argv[2:]]))
