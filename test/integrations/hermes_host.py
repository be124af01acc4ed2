"""Hermes as its documentation has it: loads a plugin folder, and runs tool calls through its hooks.

A line of JSON on standard input is a tool call, one on standard output what became of it; calls run at the same time.
Where versions differ it does what is least safe: an exception in a hook is logged, and the call goes on.
"""

import importlib
import importlib.util
import json
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

hooks: dict[str, list[Any]] = {}
# By its number, how to stop a call.
stops: "dict[int, Any]" = {}
folder, config = Path(sys.argv[1]), json.loads(sys.argv[2])
timeout = config.get("plugins", {}).get("hook_callback_timeout", 30)
timeout = 30 if timeout < 0 else timeout


class Context:
    def register_hook(self, name: str, callback: Any) -> None:
        hooks.setdefault(name, []).append(callback)

    def get_config(self, key: str, default: Any = None) -> Any:
        return config.get("plugins", {}).get("entries", {}).get("holdpoint", {}).get("settings", {}).get(key, default)


def load() -> None:
    """As a package below `hermes_plugins`, whatever the folder is called. What cannot be loaded is left out."""
    settings = types.ModuleType("hermes_cli.config")
    settings.load_config_readonly = lambda: config  # type: ignore[attr-defined]
    sys.modules["hermes_cli"], sys.modules["hermes_cli.config"] = types.ModuleType("hermes_cli"), settings
    parent = types.ModuleType("hermes_plugins")
    parent.__path__ = []
    sys.modules["hermes_plugins"] = parent
    name = "hermes_plugins.holdpoint"
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = name
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        module.register(Context())
    except Exception as error:
        print(f"the plugin was not loaded: {error}", file=sys.stderr)


def invoke(hook: str, **given: Any) -> list[Any]:
    """Each callback on a thread of its own, which is left alone when its time is over."""
    results: list[Any] = []
    for callback in hooks.get(hook, []):
        done = threading.Event()
        outcome: dict[str, Any] = {}

        def work(callback: Any = callback, done: threading.Event = done, outcome: dict[str, Any] = outcome) -> None:
            try:
                outcome["value"] = callback(**given, telemetry_schema_version="hermes.observer.v1")
            except BaseException as error:
                print(f"{hook} raised: {error!r}", file=sys.stderr)
            done.set()

        threading.Thread(target=work, daemon=True).start()
        if not done.wait(timeout or None):
            if hook == "pre_tool_call":
                results.append({"action": "block", "message": "pre_tool_call plugin callback timed out"})
        elif outcome.get("value") is not None:
            results.append(outcome["value"])
    return results


def decide(args: dict[str, Any], results: list[Any]) -> "tuple[str | None, dict[str, Any]]":
    """The message of a block, and the arguments that count."""
    for result in results:
        action = result.get("action") if isinstance(result, dict) else None
        if action == "modify" and isinstance(result.get("args"), dict):
            args = {**args, **result["args"]}
        if action == "block" and isinstance(result.get("message"), str) and result["message"] != "":
            return result["message"], args
    return None, args


def handle(call: dict[str, Any]) -> None:
    """A call that is stopped while its hooks run is told as cancelled, and goes on all the same once they let it."""
    ids = {name: call.get(name, "") for name in ("session_id", "task_id", "tool_call_id", "turn_id", "api_request_id")}
    given = {"tool_name": call["tool"], "args": call["args"], **ids, "middleware_trace": []}
    cancelled = {"result": "cancelled", "status": "cancelled", "error_message": "interrupt"}
    stops[call["number"]] = lambda: invoke("post_tool_call", **given, **cancelled, error_type=None, duration_ms=1)
    message, args = decide(call["args"], invoke("pre_tool_call", **given))
    ran = None
    if message is not None:
        status, result, error = "blocked", {"error": message}, message
    else:
        ran = args
        error = call.get("fails")
        status, result = ("ok", {"output": "done"}) if error is None else ("error", {"error": error})
    told = {**given, "args": args, "result": json.dumps(result), "status": status, "error_message": error}
    invoke("post_tool_call", **told, error_type=None, duration_ms=1)
    print(json.dumps({"number": call["number"], "ran": ran, "said": message or ""}), flush=True)


if "rewrites" in config:
    # Another plugin, which was loaded before.
    hooks["pre_tool_call"] = [lambda **_: {"action": "modify", "args": config["rewrites"]}]
load()
print(json.dumps({"hooks": sorted(hooks)}), flush=True)
for line in sys.stdin:
    said = json.loads(line)
    if "stop" in said:
        stops[said["stop"]]()
    else:
        threading.Thread(target=handle, args=[said], daemon=True).start()
# As a program that ends: nobody waits for what still runs.
time.sleep(0)
