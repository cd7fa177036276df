"""Write the suite that reproduces a solution or certificate of the library."""

import json

from boundmark.benchmarks.library.entry import Entry, Find


def recipe(entry: Entry, find: Find) -> str:
    """Return a suite of one task as TOML text: instance, method, parameters, seed and limits.

    Methods that watch the clock may find something else than they did; most end by themselves.
    """
    params = ", ".join(f"{name} = {_toml(value)}" for name, value in find.params.items())
    lines = [
        f"# Makes again: {entry.name}, {find.words}.",
        f"# Document {find.sha256}, with boundmark {find.boundmark} at commit "
        f"{find.commit or 'unknown'}.",
        f"description = {_toml(f'Makes {entry.label} of the library again.')}",
        f"problem = {_toml(entry.problem)}",
        f"time_limit_seconds = {find.time_limit_seconds:g}",
        f"memory_limit_gib = {find.memory_limit_bytes / 2**30:g}",
        f"threads = {find.threads}",
        f"seeds = [{find.seed}]",
        f"methods = [{{ name = {_toml(find.method)}, params = {{ {params} }} }}]",
        "",
        "[[instances]]",
        f"dataset = {_toml(entry.dataset)}",
        f"members = [{_toml(entry.instance)}]",
        *([f"device = {_toml(entry.device)}"] if entry.device else []),
        *(f"{name} = [{_toml(value)}]" for name, value in entry.parameters.items()),
    ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """Return a text, number or truth value as TOML, which writes these as JSON does."""
    return json.dumps(value)
