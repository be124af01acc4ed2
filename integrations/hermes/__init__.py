"""For Hermes: holds every tool call until a person has approved it, or a rule of the service lets it pass.

The service decides, joins a retry to what is pending and claims; here its answer is waited for, for as long as Hermes
waits. What is not an approval in every respect blocks the call, and so does every error: not all versions of Hermes take
an exception for a block.
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
import math
import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import holdpoint

_log = logging.getLogger("holdpoint.hermes")

# What Hermes gives a callback where its settings say nothing else, and at most; and a tool call, which the wait is part of.
_usual_callback_seconds = 30.0
_max_callback_seconds = 600.0
_usual_call_seconds = 420.0
# Hermes must have the answer before its own time is up: what it no longer waits for must not be claimed.
_margin_seconds = 2.0
_report_seconds = 5.0
# Calls whose outcome Hermes never told are forgotten beyond this.
_max_open = 1000
_stop = "It was not done. Do not look for another way to do it; tell the person you work for."

_Body = dict[str, Any]


class Context(Protocol):
    """What is used here of what Hermes hands to `register`."""

    def register_hook(self, hook_name: str, callback: Callable[..., Any], /) -> Any: ...

    def get_config(self, key: str, default: Any = None, /) -> Any: ...


class _NotSetUp(Exception):
    """A sentence about what is missing."""


def register(ctx: Context) -> None:
    """Called by Hermes. It does not raise: a plugin that did not load would hold nothing."""
    gate = Gate(lambda: _connect(ctx))
    ctx.register_hook("pre_tool_call", gate.before)
    ctx.register_hook("post_tool_call", gate.after)


@dataclass
class _Call:
    """One that is asked for, or that was let through and is not reported yet."""

    body: _Body
    # By which the wait is called off.
    token: holdpoint.Token
    is_let_through: bool = False


class Gate:
    """The two hooks, and the calls that are between them."""

    def __init__(self, connect: Callable[[], holdpoint.Holdpoint]) -> None:
        self._connect = connect
        self._lock = threading.RLock()
        self._open: dict[str, list[_Call]] = {}
        # For a Hermes that names no session: whatever runs in this process is one.
        self._own_session = f"hermes-{uuid.uuid4()}"

    def before(self, tool_name: object = None, args: object = None, **given: object) -> _Body | None:
        """What Hermes does with the call: `block`, or with exactly these arguments."""
        try:
            return self._decide(tool_name, args, given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _warn(f"The tool call {tool_name} is blocked: {error}")
            return _block(_say(error))

    def after(self, tool_name: object = None, args: object = None, **given: object) -> None:
        """How it went, for the record. Only of what was let through here: Hermes tells of blocked calls, too.

        And of a call that it gives up, because it was stopped or took too long. Where that still waits for a person, the
        wait ends: Hermes would make the call once it is approved, although nobody hears of it any more.
        """
        try:
            call = self._take(_key(tool_name, given), args, given.get("status") == "blocked")
            if call is not None:
                call.token.abort()
                if not call.token.is_aborted:
                    self._tell(call.body, _failure_in(given))
        except Exception as error:
            _warn(f"The outcome of the tool call {tool_name} could not be reported: {error}")

    def _decide(self, tool_name: object, args: object, given: dict[str, object]) -> _Body | None:
        if not isinstance(tool_name, str) or tool_name == "":
            raise _NotSetUp("The host did not say which tool this is.")
        seconds = _host_seconds() - _margin_seconds
        if seconds < 1:
            raise _NotSetUp(
                "Hermes leaves no time to ask anybody: set plugins.hook_callback_timeout to 600, and timeouts.tools to more."
            )
        client = self._connect()
        # A copy: what is shown to a person, and what runs, is what it was when it was asked for.
        asked: Any = {} if args is None else copy.deepcopy(args)
        body: _Body = {
            "session_id": _text(given.get("session_id")) or _text(given.get("task_id")) or self._own_session,
            "hook_event_name": "PreToolUse",
            "tool_name": tool_name,
            "tool_input": asked,
            # Hermes' own are of the model, and some models count anew in each answer.
            "tool_use_id": str(uuid.uuid4()),
        }
        key, call = _key(tool_name, given), _Call(body, _client.Token())
        self._keep(key, call)
        try:
            path = f"/hooks/claude-code?timeout={int(seconds)}"
            refusal = _refusal_in(client.call("POST", path, body, seconds=seconds, token=call.token))
            if refusal is None:
                call.token.end()
                call.is_let_through = True
        except BaseException:
            self._drop(key, call)
            # Whether it was claimed is not known. If it was, the record is to say that nothing came of it.
            threading.Thread(target=self._tell_quietly, args=[body], daemon=True).start()
            if call.token.is_aborted:
                raise _NotSetUp("Hermes gave this call up.") from None
            raise
        if refusal is not None:
            self._drop(key, call)
            return _block(refusal)
        # Said once more, so that what other plugins make of the arguments does not count.
        return {"action": "modify", "args": copy.deepcopy(asked)} if asked else None

    def _keep(self, key: str, call: _Call) -> None:
        with self._lock:
            self._open.setdefault(key, []).append(call)
            while len(self._open) > _max_open:
                del self._open[next(iter(self._open))]

    def _drop(self, key: str, call: _Call) -> None:
        with self._lock:
            rest = [one for one in self._open.pop(key, []) if one is not call]
            if rest:
                self._open[key] = rest

    def _take(self, key: str, args: object, is_blocked: bool) -> _Call | None:
        """The call with these arguments: ids may be the same. One that was blocked may have been so here."""
        with self._lock:
            found = self._open.get(key, [])
            through = [one for one in found if one.is_let_through]
            waiting = [] if is_blocked else [one for one in found if not one.is_let_through]
            call = next((one for one in through + waiting if one.body["tool_input"] == args), None)
            if call is None and through and not is_blocked:
                # Others may have added to them.
                call = through[0]
            if call is not None:
                self._drop(key, call)
            return call

    def _tell(self, body: _Body, failure: str | None) -> None:
        event = {"hook_event_name": "PostToolUse"}
        if failure is not None:
            # Half a character would not be sent.
            error = failure[:500].encode("utf-8", "replace").decode()
            event = {"hook_event_name": "PostToolUseFailure", "error": error}
        self._connect().call("POST", "/hooks/claude-code", {**body, **event}, seconds=_report_seconds)

    def _tell_quietly(self, body: _Body) -> None:
        try:
            self._tell(body, "Nothing was done: the answer did not come back.")
        except Exception:
            pass


# -- the answer --------------------------------------------------------------------------------------------------------


def _refusal_in(answer: _Body) -> str | None:
    """None for an approval; else the sentence for the model. What is neither is raised."""
    output = answer.get("hookSpecificOutput")
    if isinstance(output, dict):
        said = cast(_Body, output)
        decision, reason = said.get("permissionDecision"), said.get("permissionDecisionReason")
        if said.get("hookEventName") == "PreToolUse":
            # With another input, what was approved is not what would run.
            if decision == "allow" and "updatedInput" not in said:
                return None
            if decision == "deny" and isinstance(reason, str) and reason.strip() != "":
                return reason
    raise _NotSetUp("What answers at the address of the service does not answer as Holdpoint does.")


def _failure_in(given: dict[str, object]) -> str | None:
    status, message = given.get("status"), _text(given.get("error_message"))
    if status == "ok":
        return None
    if isinstance(status, str) and status != "":
        return message or f"Hermes says: {status}."
    # An older Hermes says it in the result alone.
    try:
        result = json.loads(_text(given.get("result")))
    except (ValueError, RecursionError):
        return None
    error: object = cast(_Body, result).get("error") if isinstance(result, dict) else None
    return str(error) if error else None


def _say(error: BaseException) -> str:
    if isinstance(error, _NotSetUp):
        return f"{error} {_stop}"
    if getattr(error, "code", "") == "unreachable":
        return f"Holdpoint could not be asked. {_stop} Exactly this call may be made again later."
    to_model = getattr(error, "to_model", None)
    if to_model is not None:
        return str(to_model())
    return f"The plugin failed ({type(error).__name__}). {_stop}"


def _warn(message: str) -> None:
    """On one line: names are the model's."""
    _log.warning("%s", " ".join(message.split()))


def _block(message: str) -> _Body:
    return {"action": "block", "message": message}


def _key(tool_name: object, given: dict[str, object]) -> str:
    """By which Hermes' second hook is known to be about the call of the first."""
    return json.dumps([tool_name, *(given.get(name) for name in ("session_id", "task_id", "tool_call_id"))], default=str)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# -- settings ----------------------------------------------------------------------------------------------------------


def _load_client() -> Any:
    try:
        return importlib.import_module(".client", __package__)
    except (Exception, SystemExit) as error:
        _log.error("The client of Holdpoint is not beside the plugin: %s", error)
        return None


# Once, and never from a path that an agent may write to.
_client: Any = _load_client()


def _connect(ctx: Context) -> holdpoint.Holdpoint:
    """Anew for each call, so that a new key counts at once."""
    if _client is None:
        raise _NotSetUp("The plugin is not whole: install the folder that the npm package holdpoint has for Hermes.")
    url, key_file = _setting(ctx, "url"), _setting(ctx, "key_file")
    key = ""
    if key_file != "":
        try:
            key = Path(key_file).expanduser().read_text().strip()
        except (OSError, ValueError):
            raise _NotSetUp(f"The key_file {key_file} cannot be read.") from None
        if key == "":
            raise _NotSetUp(f"The key_file {key_file} is empty.")
    given = [url, key, *(os.environ.get(name, "").strip() for name in ("HOLDPOINT_URL", "HOLDPOINT_KEY"))]
    if not any(given):
        raise _NotSetUp("The plugin does not know where Holdpoint is: set url and key_file, or HOLDPOINT_URL.")
    try:
        return _client.Holdpoint(url or None, key or None)
    except ValueError as error:
        raise _NotSetUp(f"Holdpoint cannot be asked: {error}.") from None


def _setting(ctx: Context, name: str) -> str:
    """plugins.entries.holdpoint.settings in the config.yaml of Hermes. Older versions have none."""
    get = getattr(ctx, "get_config", None)
    value = None if get is None else get(name, None)
    if value is not None and not isinstance(value, str):
        raise _NotSetUp(f"The setting {name} of the plugin is no text.")
    return (value or "").strip()


def _host_seconds() -> float:
    """How long Hermes waits: for a callback, and for a tool call or several at once. As it reads its settings itself."""
    try:
        config: Any = importlib.import_module("hermes_cli.config").load_config_readonly()
    except Exception:
        config = {}
    callback = _seconds(config, "plugins", "hook_callback_timeout", usual=_usual_callback_seconds)
    if callback < 0:
        callback = _usual_callback_seconds
    usual = _seconds(os.environ, "HERMES_CONCURRENT_TOOL_TIMEOUT_S", usual=_usual_call_seconds)
    batch = _seconds(config, "timeouts", "tools", "concurrent_batch", usual=usual)
    call = _seconds(config, "timeouts", "tools", "sequential_call", usual=batch)
    # 0 is for ever, and so is less, of a tool call.
    return min(one for one in (callback, batch, call, _max_callback_seconds) if one > 0)


def _seconds(settings: Any, *names: str, usual: float) -> float:
    try:
        for name in names:
            settings = settings[name]
        seconds = float(settings)
    except Exception:
        return usual
    return usual if math.isnan(seconds) else seconds
