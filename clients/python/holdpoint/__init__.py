"""Holds what an agent is about to do until a person approves it. Standard library alone, Python 3.10 and later.

    from holdpoint import require_approval

    @require_approval("send_mail", describe=lambda details: f"Mail {details['to']}")
    def send_mail(to: str, text: str) -> None: ...

A function runs only after an accepted claim of exactly the details it is given. Whatever else happens is an error, told
from others by its `code`, and the function has not run.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import hashlib
import http.client
import inspect
import io
import json
import logging
import math
import os
import random
import re
import socket
import ssl
import threading
import time
import unicodedata
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Literal, NoReturn, ParamSpec, TypedDict, TypeVar, Union, cast, get_args
from urllib.parse import parse_qs, urlencode, urlsplit

__all__ = [
    "Approval",
    "Ask",
    "AsyncHoldpoint",
    "Cancelled",
    "ClaimRefused",
    "ClaimUncertain",
    "Decision",
    "Denied",
    "Details",
    "Event",
    "Expired",
    "FakeAnswer",
    "FakeAnswers",
    "Held",
    "Holdpoint",
    "HoldpointError",
    "Invalid",
    "RateLimited",
    "Record",
    "Refused",
    "Suspended",
    "Unreachable",
    "canonical",
    "digest",
    "loads",
    "require_approval",
    "use",
]
__version__ = "0.1.0"

P = ParamSpec("P")
R = TypeVar("R")
Details = dict[str, Any]
Status = Literal["pending", "approved", "denied", "expired", "cancelled", "auto_approved"]
Outcome = Literal["succeeded", "failed"]
_Headers = Mapping[str, str]

_log = logging.getLogger("holdpoint")


class _Deliveries(TypedDict, total=False):
    deliveries: list[dict[str, Any]]


class Record(_Deliveries):
    """A confirmation in its latest state: what `GET /confirm/{id}` answers."""

    id: str
    action: str
    description: str
    details: Details
    requester: str
    requested_as: str | None
    on_behalf_of: str | None
    session_key: str
    session_id: str | None
    warnings: list[str]
    callback_url: str | None
    timeout_seconds: float
    created_at: float
    created_at_iso: str
    expires_at: float
    expires_at_iso: str
    status: Status
    resolved_by: str
    resolved_at: float | None
    resolved_at_iso: str | None
    resolved_via: str | None
    reason: str | None
    rule: str
    risk: Literal["low", "normal", "high"]
    digest: str
    digest_required: bool
    approvals_needed: int
    approvals_given: int
    votes: list[dict[str, Any]]
    comments: list[dict[str, Any]]
    told_at: float | None
    told_at_iso: str | None
    execution: Literal["unclaimed", "lapsed", "claimed", "unreported", "succeeded", "failed"] | None
    claim_expires_at: float | None
    claim_expires_at_iso: str | None
    claimed_at: float | None
    claimed_at_iso: str | None
    reported_at: float | None
    reported_at_iso: str | None
    outcome: Outcome | None
    report_message: str | None


class _Granted(TypedDict, total=False):
    reason: str
    grant: dict[str, Any]


class Decision(_Granted):
    """What a decision or a cancellation is answered with."""

    id: str
    action: str
    status: Status
    resolved_by: str
    resolved_at: float | None
    resolved_at_iso: str | None
    approvals_needed: int
    approvals_given: int
    votes: list[dict[str, Any]]


class Event(TypedDict):
    """One event of the history."""

    seq: int
    type: str
    time: float
    time_iso: str
    actor: str
    channel: str
    confirmation_id: str | None
    data: dict[str, Any]


# -- errors ------------------------------------------------------------------------------------------------------------


class HoldpointError(Exception):
    """The function has not run. `code` tells why; `to_model()` is a sentence for the model."""

    code: str = ""

    def __init__(self, sentence: str, *, action: str = "", id: str | None = None) -> None:
        super().__init__(sentence)
        self.action = action
        self.id = id

    def to_model(self) -> str:
        """What the model is told. It does not invite another try."""
        return f"{self._why()} It was not done. {_stop}"

    def __reduce__(self) -> Any:
        # As it is, also from another process.
        return _revive, (type(self), self.args, vars(self))

    def _why(self) -> str:
        return "It was not approved."

    @property
    def _what(self) -> str:
        return _quoted(self.action) if self.action else "this"


def _revive(kind: type[HoldpointError], args: tuple[str], state: dict[str, Any]) -> HoldpointError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


_stop = "Do not ask for it again and do not look for another way to do it; tell the person you work for."


def _quoted(text: str) -> str:
    """Somebody's words on one line, so that it is seen where they end; what cannot be seen is written out."""
    line = " ".join(text.split())
    quoted = json.dumps(line if len(line) <= 500 else f"{line[:500]}…", ensure_ascii=False)
    return "".join(f"\\u{{{ord(one):x}}}" if unicodedata.category(one)[0] == "C" else one for one in quoted)


class _WithReason(HoldpointError):
    _verb = "ended"

    def __init__(self, *, action: str = "", id: str | None = None, by: str = "", reason: str | None = None) -> None:
        because = f", because: {reason}" if reason else ""
        super().__init__(f"{by or 'Somebody'} {self._verb} {action or 'this'}{because}", action=action, id=id)
        self.by = by
        self.reason = reason

    def _why(self) -> str:
        because = f", because: {_quoted(self.reason)}" if self.reason else ""
        return f"{_quoted(self.by) if self.by else 'Somebody'} {self._verb} {self._what}{because}."


class Denied(_WithReason):
    """A person said no: `by` and `reason` say who and why."""

    code = "denied"
    _verb = "denied"


class Cancelled(_WithReason):
    """The request was withdrawn."""

    code = "cancelled"
    _verb = "withdrew the request for"


class Expired(HoldpointError):
    """Nobody answered in time."""

    code = "expired"

    def _why(self) -> str:
        return f"Nobody answered the request for {self._what} in time."


class ClaimRefused(HoldpointError):
    """There was an approval, and the service did not let it be used; `problem` is its code."""

    code = "claim_refused"

    def __init__(self, sentence: str, *, problem: str, action: str = "", id: str | None = None) -> None:
        super().__init__(sentence, action=action, id=id)
        self.problem = problem

    def _why(self) -> str:
        return f"The approval of {self._what} could not be used ({self.problem})."


class ClaimUncertain(HoldpointError):
    """The answer to the claim is lost for good. The record may say `claimed`; the function has not run."""

    code = "claim_uncertain"

    def _why(self) -> str:
        return f"It is not known whether the approval of {self._what} was used up."


class RateLimited(HoldpointError):
    """Too much was asked for; `retry_after_seconds` says when there is room, `problem` is the service's code."""

    code = "rate_limited"

    def __init__(
        self,
        sentence: str,
        *,
        problem: str = "rate_limited",
        retry_after_seconds: float = 0,
        action: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(sentence, action=action, id=id)
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds

    def _why(self) -> str:
        return f"Too many requests were made for {self._what} to be asked for now."


class Suspended(HoldpointError):
    """An operator suspended the session: stop."""

    code = "suspended"

    def __init__(self, sentence: str, *, reason: str | None = None, action: str = "", id: str | None = None) -> None:
        super().__init__(sentence, action=action, id=id)
        self.reason = reason

    def to_model(self) -> str:
        because = f", because: {_quoted(self.reason)}" if self.reason else ""
        return f"This session was suspended{because}. It was not done. Stop, and tell the person you work for."


class Unreachable(HoldpointError):
    """The service could not be asked until the deadline, or what answers is not the service."""

    code = "unreachable"

    def _why(self) -> str:
        return f"Nobody could be asked whether {self._what} may be done."


class Refused(HoldpointError):
    """The service said no for another reason: `code` is its own, such as `unauthorized`, `status` that of HTTP."""

    def __init__(
        self,
        sentence: str,
        *,
        code: str,
        status: int = 0,
        body: Details | None = None,
        action: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(sentence, action=action, id=id)
        self.code = code
        self.status = status
        self.body = body or {}

    def _why(self) -> str:
        return f"The request for {self._what} was not taken ({self.code})."


class Invalid(HoldpointError, ValueError):
    """What was given cannot be used: a setting, an argument, a value that JSON cannot carry. Nothing was sent."""

    code = "invalid"

    def _why(self) -> str:
        return f"This cannot be put before a person: {_quoted(str(self))}."


# -- JSON and the digest -----------------------------------------------------------------------------------------------

_max_depth = 64
_max_integer = 2**53


def canonical(value: object, path: str = "details") -> str:
    """The RFC 8785 form of a JSON value. What JSON cannot carry, or changes on the way, is refused with its place."""
    return _write(value, path, 0)


def _write(value: object, path: str, depth: int) -> str:
    # Exact types: a subclass may be another value to the function than to whoever approves.
    kind = type(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if kind is str:
        return _write_text(value, path)  # type: ignore[arg-type]
    if kind is int:
        if abs(value) > _max_integer:  # type: ignore[arg-type]
            raise Invalid(f"{path}: an integer beyond 2^53 does not survive JSON; make it text")
        return str(value)
    if kind is float:
        return _write_float(value, path)  # type: ignore[arg-type]
    if kind is list:
        items: list[object] = value  # type: ignore[assignment]
        _check_depth(items, path, depth)
        return f"[{','.join(_write(item, f'{path}[{at}]', depth + 1) for at, item in enumerate(items))}]"
    if kind is dict:
        members: dict[object, object] = value  # type: ignore[assignment]
        _check_depth(members, path, depth)
        for key in members:
            if type(key) is not str:
                raise Invalid(f"{path}: the name {key!r} is {_a(type(key))}; names of JSON are text")
        named: dict[str, object] = members  # type: ignore[assignment]
        if "__proto__" in named or (isinstance(inner := named.get("constructor"), dict) and "prototype" in inner):
            raise Invalid(f"{path}: the names '__proto__' and 'constructor.prototype' are refused")
        # As the RFC compares them: by UTF-16 units.
        names = sorted(named, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        inside = (f"{_write_text(name, path)}:{_write(named[name], f'{path}.{name}', depth + 1)}" for name in names)
        return f"{{{','.join(inside)}}}"
    hint = "; make it a list" if isinstance(value, (tuple, set, frozenset)) else ""
    raise Invalid(f"{path}: {_a(kind)} is no JSON value (dict, list, str, int, float, bool, None){hint}")


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__name__}"


def _check_depth(value: Sequence[object] | dict[object, object], path: str, depth: int) -> None:
    if depth >= _max_depth and len(value) > 0:
        raise Invalid(f"{path[:200]}: nested deeper than {_max_depth} levels")


def _write_text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{path}: a text with half a character (a lone surrogate) is no Unicode") from None
    return json.dumps(text, ensure_ascii=False)


def _write_float(number: float, path: str) -> str:
    """As ECMAScript writes it, which RFC 8785 wants: 1e16 is 10000000000000000."""
    if not math.isfinite(number):
        raise Invalid(f"{path}: JSON has no {number}")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    # The digits of repr are the shortest that mean this number, as ECMAScript's are.
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def loads(text: str | bytes) -> Details:
    """Details as the service reads them: names that stand twice and numbers that would change are refused."""
    value = _read(text)
    canonical(value)
    return value


def _read(text: str | bytes) -> Details:
    def number(written: str) -> int | float:
        if re.fullmatch(r"-?\d{1,16}", written) and abs(int(written)) <= _max_integer:
            return int(written)
        read = float(written)
        if not math.isfinite(read) or Decimal(written) != Decimal(_write_float(read, "details")):
            raise Invalid(f"the number {written[:40]} does not survive being read; make it text")
        return read

    def members(pairs: list[tuple[str, Any]]) -> Details:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise Invalid(f"the name {twice[:40]!r} stands twice in one object")
        return found

    def constant(name: str) -> NoReturn:
        raise Invalid(f"{name} is no JSON")

    value = json.loads(text, parse_int=number, parse_float=number, parse_constant=constant, object_pairs_hook=members)
    if not isinstance(value, dict):
        raise Invalid("details are a JSON object")
    return cast(Details, value)


# What ECMAScript trims, which is not what str.strip does.
_blank = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def digest(
    action: str,
    details: Mapping[str, Any] | None = None,
    *,
    requester: str = "agent",
    session_key: str = "",
    on_behalf_of: str | None = None,
) -> str:
    """What an approval is bound to, in 64 hexadecimal digits."""
    of: Details = {
        "action": action.strip(_blank),
        "details": dict(details or {}),
        "requester": requester,
        "session_key": session_key,
    }
    if on_behalf_of is not None and on_behalf_of.strip(_blank) != "":
        of["on_behalf_of"] = on_behalf_of.strip(_blank)
    return hashlib.sha256(_members(of).encode()).hexdigest()


def _members(of: Mapping[str, object]) -> str:
    """An object of known names around what agents give, which may be as deep as the service takes it."""
    return "{" + ",".join(f'"{name}":{_write(of[name], name, 0)}' for name in sorted(of)) + "}"


def _copy(value: Any) -> Any:
    """A value of its own, for whom it is given to. -0.0 is 0.0, as in the digest."""
    if type(value) is dict:
        return {key: _copy(inner) for key, inner in cast(Details, value).items()}
    if type(value) is list:
        return [_copy(inner) for inner in cast(list[Any], value)]
    return 0.0 if type(value) is float and value == 0 else value


# -- what is asked for -------------------------------------------------------------------------------------------------

_key_form = re.compile(r"[!-~]{1,255}")
_id_form = re.compile(r"[0-9A-Za-z-]{1,64}")
_whole_id = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Ask:
    """What is asked for. The details are copied, so that what happens to the given ones later changes nothing.

    `idempotency_key` is best the id of a tool call; without one it is random for each request, and kept over retries.
    """

    action: str
    description: str
    details: Details = field(default_factory=dict[str, Any])
    session_key: str = ""
    requester: str | None = None
    on_behalf_of: str | None = None
    timeout_seconds: float | None = None
    callback_url: str | None = None
    idempotency_key: str | None = None

    def __post_init__(self) -> None:
        if type(self.details) is not dict:
            raise Invalid(f"details: {_a(type(self.details))} is no dict")
        for name in ("action", "description"):
            if type(getattr(self, name)) is not str or getattr(self, name).strip(_blank) == "":
                raise Invalid(f"{name}: say in words what is to be done")
        canonical(self.details)
        if self.timeout_seconds is not None:
            _duration(self.timeout_seconds, "timeout_seconds")
        object.__setattr__(self, "action", self.action.strip(_blank))
        object.__setattr__(self, "details", _copy(self.details))
        if self.idempotency_key is not None and not _key_form.fullmatch(self.idempotency_key):
            raise Invalid("idempotency_key: 1 to 255 visible ASCII characters")

    def _body(self) -> Details:
        given = {
            "requester": self.requester,
            "on_behalf_of": self.on_behalf_of,
            "timeout_seconds": self.timeout_seconds,
            "callback_url": self.callback_url,
            "session_key": self.session_key or None,
        }
        body: Details = {"action": self.action, "description": self.description, "details": self.details}
        return body | {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Held:
    """A request that the service has taken. `to_dict` and `from_dict` carry it to another process."""

    id: str
    ask: Ask
    requester: str
    timeout_seconds: float
    expires_at: float
    status: Status = "pending"
    session: Details | None = None

    @property
    def digest(self) -> str:
        """Of what is about to be done: computed here, not what the service answered."""
        ask = self.ask
        return digest(
            ask.action,
            ask.details,
            requester=self.requester,
            session_key=ask.session_key,
            on_behalf_of=ask.on_behalf_of,
        )

    def to_dict(self) -> Details:
        """JSON, to be stored."""
        return {**vars(self), "ask": _copy(vars(self.ask)), "session": _copy(self.session)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Held:
        """What was stored."""
        fields: dict[str, Any] = {**stored, "ask": Ask(**stored["ask"])}
        return cls(**fields)


# -- the wire ----------------------------------------------------------------------------------------------------------

_max_answer = 64 * 1024 * 1024
_call_seconds = 10.0
_hold_seconds = 50
_cleanup_seconds = 5.0
_claim_seconds = 30.0
# So long it is expected by the service.
_report_seconds = 3600.0
_verb_seconds = 30.0
_usual_seconds = 300.0


_D = TypeVar("_D", Ask, Held)


def _as(kind: type[_D], given: _D, **changed: Any) -> _D:
    return kind(**{one.name: changed.get(one.name, getattr(given, one.name)) for one in fields(kind)})


class _Fault(Exception):
    """No answer that counts. `sent`: the request may have arrived. `lasting`: another try will not help."""

    def __init__(self, why: str, *, sent: bool, lasting: bool = False) -> None:
        super().__init__(why)
        self.sent = sent
        self.lasting = lasting


class _Aborted(BaseException):
    """The run was called off from another thread."""


class Token:
    """By which a blocking run is called off: at once while it waits, else before its next step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._is_over = False

    @property
    def is_aborted(self) -> bool:
        return self._event.is_set()

    def abort(self) -> None:
        """Calls it off, unless it is over."""
        with self._lock:
            if self._is_over:
                return
            self._event.set()
            sock = None if self._connection is None else self._connection.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self) -> None:
        """Nobody can call it off any more."""
        with self._lock:
            if self._event.is_set():
                raise _Aborted
            self._is_over = True

    def check(self) -> None:
        if self._event.is_set():
            raise _Aborted

    def pause(self, seconds: float) -> None:
        if self._event.wait(seconds):
            raise _Aborted

    @contextmanager
    def holding(self, connection: http.client.HTTPConnection) -> Generator[None, None, None]:
        with self._lock:
            self._connection = connection
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._connection = None
            self.check()


# What stands in a sentence for the model without quotes.
_code_form = re.compile(r"[a-z0-9_]{1,64}")


@dataclass
class _Answer:
    status: int
    body: Details
    retry_after: float | None = None

    @property
    def problem(self) -> str:
        code = self.body.get("code")
        return code if isinstance(code, str) and _code_form.fullmatch(code) else f"http_{self.status}"

    @property
    def sentence(self) -> str:
        return str(self.body.get("error") or f"The service answered {self.status}.")


class _Timed:
    """A socket on which all must be over in time: a timeout of its own begins anew with each byte."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock = sock
        self._until = until
        self.shutdown = sock.shutdown
        self.close = sock.close

    def settle(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)

    def sendall(self, data: bytes) -> None:
        self.settle()
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self, self._sock.makefile("rb", buffering=0)))


class _TimedReader(io.RawIOBase):
    def __init__(self, timed: _Timed, raw: io.RawIOBase) -> None:
        self._timed = timed
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._timed.settle()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Http:
    """Asks the service: one connection a call, no redirects, no proxies."""

    def __init__(self, url: str, key: str | None, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and parts.hostname is not None
        if not re.fullmatch("[!-~]+", url) or not is_http or parts.query or parts.fragment or "@" in parts.netloc:
            raise Invalid("url: an address such as http://127.0.0.1:6000")
        if key is not None and not re.fullmatch(r"[!-~]+", key):
            raise Invalid("key: one word of visible ASCII characters")
        self.url = url
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self._key = key
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPSConnection(self._host, self._port, timeout=seconds, context=self._context)

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: str | None,
        headers: _Headers,
        until: float | None = None,
    ) -> http.client.HTTPResponse:
        """The answer's head. Faults say whether the request may have arrived. `until` is for the whole answer."""
        sent = False
        try:
            connection.connect()
            if until is not None:
                connection.sock = _Timed(connection.sock, until)  # type: ignore[assignment]
            agent = f"holdpoint-python/{__version__}"
            all_headers = {"Accept": "application/json", "User-Agent": agent, "Connection": "close"}
            if self._key is not None:
                all_headers["Authorization"] = f"Bearer {self._key}"
            if body is not None:
                all_headers["Content-Type"] = "application/json"
            sent = True
            data = None if body is None else body.encode()
            connection.request(method, self._prefix + path, body=data, headers={**all_headers, **headers})
            return connection.getresponse()
        except ssl.SSLCertVerificationError as error:
            raise _Fault(f"its certificate is not trusted: {error.verify_message}", sent=False, lasting=True) from error
        except (OSError, http.client.HTTPException) as error:
            raise _Fault(_say(error), sent=sent) from error
        except ValueError as error:
            raise _Fault("its address cannot be asked", sent=False, lasting=True) from error

    def call(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: _Headers = {},
        *,
        seconds: float | None = None,
        token: Token | None = None,
    ) -> _Answer:
        seconds = _call_seconds if seconds is None else seconds
        connection = self.connect(seconds)
        until = time.monotonic() + seconds
        try:
            if token is None:
                response = self.send(connection, method, path, body, headers, until)
                return self._read(response)
            with token.holding(connection):
                response = self.send(connection, method, path, body, headers, until)
                return self._read(response)
        finally:
            connection.close()

    def _read(self, response: http.client.HTTPResponse) -> _Answer:
        try:
            raw = response.read(_max_answer + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _Fault(_say(error), sent=True) from error
        if 300 <= response.status < 400:
            raise _Fault(f"it answers {response.status}, a redirect, and none is followed", sent=True, lasting=True)
        if len(raw) > _max_answer:
            raise _Fault("its answer is too long", sent=True, lasting=True)
        if response.length:
            # What came of it may be JSON all the same.
            raise _Fault("its answer is cut", sent=True)
        body = _object_in(raw)
        if body is None:
            # A proxy's page, or an answer that was cut.
            if not 400 <= response.status < 500 or response.status in (408, 429):
                raise _Fault(f"it answers {response.status} with what is no JSON object", sent=True)
            body = {}
        retry_after = _seconds(body.get("retry_after_seconds"), response.getheader("Retry-After"))
        return _Answer(response.status, body, retry_after)


def _object_in(raw: bytes) -> Details | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast(Details, value) if isinstance(value, dict) else None


def _say(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return str(error) or type(error).__name__


def _seconds(*given: object) -> float | None:
    for one in given:
        if isinstance(one, (int, float)) and not isinstance(one, bool) and one >= 0:
            return float(min(one, 1e9))
        if isinstance(one, str) and re.fullmatch(r"\d{1,9}", one):
            return float(one)
    return None


# -- the client --------------------------------------------------------------------------------------------------------


class _Run:
    """One request on its way: what is known of it, for whoever has to clean up."""

    def __init__(self, ask: Ask, token: Token) -> None:
        self.ask = ask
        self.token = token
        # Kept over retries: a repeated submission is the same, and so is a repeated claim.
        self.key = ask.idempotency_key or str(uuid.uuid4())
        # Never from what another process could come to as well: both would act.
        self.claim_key = str(uuid.uuid4())
        self.was_sent = False
        self.claim_was_sent = False
        # Asked for by this run, and not by one before it.
        self.is_own = True
        self.held: Held | None = None
        self.record: Record | None = None
        self.until = 0.0
        self.message: str | None = None


class Holdpoint:
    """A client of the service at `url`, with `key`: from HOLDPOINT_URL and HOLDPOINT_KEY where they are not given.

    Network faults, 503 and 429 are retried until the request's own deadline, or for `retry_seconds` in a row.
    `ssl_context` is for a service whose certificate is from a CA of your own. Safe to share between threads.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        retry_seconds: float | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        url = (url or os.environ.get("HOLDPOINT_URL") or "").strip() or "http://127.0.0.1:6000"
        key = (key or os.environ.get("HOLDPOINT_KEY") or "").strip() or None
        self._wire: _Http | _FakeService = _Http(url, key, ssl_context)
        self._retry_seconds = None if retry_seconds is None else _duration(retry_seconds, "retry_seconds")

    @classmethod
    def fake(cls, answer: FakeAnswers = "pending") -> Holdpoint:
        """A client for tests that asks nobody: the same class, the same errors.

        `answer` is one for all, by action, or a function of the ask: "approved", "auto_approved", "pending" (until
        `approve` or `deny` is called), ("denied", reason), or the code of an error. An action without one is denied.
        """
        client = cls("http://127.0.0.1:6000", "fake", retry_seconds=0)
        client._wire = _FakeService(answer)
        return client

    def __repr__(self) -> str:
        return f"Holdpoint({self._wire.url!r})"

    # -- for agents

    def require_approval(
        self,
        action: str,
        *,
        describe: str | Callable[[Details], str] | None = None,
        leave_out: Sequence[str] = (),
        session_key: str | Callable[[Details], str] = "",
        requester: str | None = None,
        on_behalf_of: str | Callable[[Details], str | None] | None = None,
        timeout_seconds: float | None = None,
        idempotency_key: Callable[[Details], str | None] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Wraps a function or coroutine, so that it runs only with arguments that were approved.

        All arguments, defaults too, are the details, by name: `*args` a list, `**kwargs` an object. They must be JSON.
        `self` and `cls` of methods, and what `leave_out` names, are handed on and not part of what is approved.
        `describe` is called with the details; the other functions with all arguments, also those left out.
        """
        return _decorator(
            lambda: self,
            action,
            _Options(
                describe, tuple(leave_out), session_key, requester, on_behalf_of, timeout_seconds, idempotency_key
            ),
        )

    def approval(self, ask: Ask) -> Approval:
        """The scope behind it: `with client.approval(ask) as approved: send(**approved.details)`, or `async with`."""
        return Approval(self, ask)

    def run(self, ask: Ask, fn: Callable[[Details], R]) -> R:
        """Calls the function with the details, once they were approved and claimed; reports how it went."""
        _refuse_async(fn)
        with self.approval(ask) as approved:
            return _plain(fn(approved.details))

    def request(self, ask: Ask) -> Held:
        """Asks, and does not wait: for a run that outlives the process. Repeat it with the same `idempotency_key`."""
        run = _Run(ask, Token())
        self._submit(run)
        assert run.held is not None
        return run.held

    def wait(self, held: Held | str) -> Record:
        """Waits for the approval. Everything else that ends a request is raised."""
        return self._wait(held, Token())

    def _wait(self, held: Held | str, token: Token) -> Record:
        if isinstance(held, str):
            return self._await(_checked(held), "", token, self._end_of(_usual_seconds))
        record = self._await(_checked(held.id), held.ask.action, token, self._end_of(held.timeout_seconds))
        if record.get("digest") != held.digest:
            sentence = "The service knows it as something else."
            raise ClaimRefused(sentence, problem="digest_mismatch", action=held.ask.action, id=held.id)
        return record

    def act(self, held: Held, fn: Callable[[Details], R]) -> R:
        """Claims what was approved, calls the function with its details, and reports how it went."""
        _refuse_async(fn)
        with Approval(self, held.ask, held) as approved:
            return _plain(fn(approved.details))

    def cancel(self, id: str, *, by: str | None = None, reason: str | None = None) -> Decision:
        """Withdraws a request: the agent changed its mind."""
        return self._decide(id, "cancel", "cancelled", cancelled_by=by, reason=reason)

    def call(
        self, method: str, path: str, body: Details | None = None, *, seconds: float = 30, token: Token | None = None
    ) -> Details:
        """Any request, once: what no verb is there for. No answer in `seconds`, and one from 300 on, is raised."""
        text = None if body is None else _members(body)
        try:
            answer = self._wire.call(method, path, text, seconds=_duration(seconds, "seconds"), token=token)
        except _Fault as fault:
            raise self._away(fault, "", None) from fault
        if answer.status >= 300:
            raise self._failure(answer, answer.retry_after or 0.0, "", None)
        return answer.body

    # -- for those who decide

    def pending(self, *, action: str | None = None, session_key: str | None = None) -> list[Record]:
        """All that wait for an answer, the next deadline first."""
        filters = {"status": "pending", "action": action, "session_key": session_key}
        return list(self._pages("/confirm", "confirmations", filters))

    def audit(self, limit: int = 50, **filters: str) -> list[Record]:
        """The last requests in their latest state, the newest first; with the filters of `GET /audit`."""
        found: list[Record] = []
        for record in self._pages("/audit", "entries", {"limit": str(min(500, max(1, limit))), **filters}):
            if len(found) >= limit:
                break
            found.append(record)
        return found

    def show(self, id: str) -> Record:
        """One request, by its id or, for those of the last week, by the last six characters of it or more."""
        path = f"/confirm/{id}" if _whole_id.fullmatch(_checked(id)) else f"/short-ids/{id}"
        return self._ask("GET", path, id=id)  # type: ignore[return-value]

    def approve(
        self,
        id: str,
        *,
        by: str | None = None,
        reason: str | None = None,
        remember: str | Mapping[str, Any] | None = None,
        typed_action: str | None = None,
    ) -> Decision:
        """Approves a request, by its whole id, which is that of what was shown. `by` is for a service without keys."""
        remember = dict(remember) if isinstance(remember, Mapping) else remember
        return self._decide(
            id, "approve", "approved", approver=by, reason=reason, remember=remember, typed_action=typed_action
        )

    def deny(self, id: str, *, by: str | None = None, reason: str | None = None) -> Decision:
        """Denies a request, by its whole id."""
        return self._decide(id, "deny", "denied", denier=by, reason=reason)

    def follow(self, id: str | None = None, *, after: int | None = None, **filters: str) -> Iterator[Event]:
        """The events of one request until its end, or all as they happen; goes on where it broke off.

        With `after`, those behind this number; `filters` are those of `GET /events`.
        """
        return self._follow(id, after, filters, Token())

    # -- how an agent's run goes

    def _pass(self, run: _Run, held: Held | None = None) -> None:
        """Returns after an accepted claim of exactly what is asked for, or raises."""
        try:
            if held is None:
                self._submit(run)
                assert run.held is not None
                if run.held.status == "pending":
                    run.record = self._await(run.held.id, run.ask.action, run.token, run.until)
            else:
                run.held = held
                run.is_own = False
                run.until = self._end_of(held.timeout_seconds)
            self._claim(run)
        except (Denied, Cancelled, Expired, ClaimRefused):
            raise
        except HoldpointError:
            # Nobody is to decide what nobody waits for; but whoever waits here need not wait long for that.
            self._withdraw(run, seconds=1.0 if self._retry_seconds is None else min(1.0, self._retry_seconds))
            raise
        except BaseException:
            self._withdraw(run)
            raise

    def _end_of(self, seconds: float) -> float:
        return time.monotonic() + (seconds if self._retry_seconds is None else self._retry_seconds)

    def _submit(self, run: _Run) -> None:
        ask = run.ask

        text = _members(ask._body())

        def send() -> _Answer:
            run.was_sent = True
            answer = self._wire.call("POST", "/confirm", text, {"Idempotency-Key": run.key})
            run.was_sent = answer.status < 400 or answer.status >= 500
            return answer

        until = self._end_of(ask.timeout_seconds or _usual_seconds)
        try:
            answer = self._persist(send, until, run.token, action=ask.action)
        except Refused as error:
            if error.code == "denied_before":
                id, by, reason = (_text(error.body.get(name)) for name in ("id", "resolved_by", "reason"))
                raise Denied(action=ask.action, id=id, by=by or "", reason=reason) from error
            raise
        body = answer.body
        try:
            run.held = Held(
                id=_checked(body["id"]),
                ask=ask,
                requester=str(body["requester"]),
                timeout_seconds=_finite(body["timeout_seconds"]),
                expires_at=_finite(body["expires_at"]),
                status=body["status"],
                session=body.get("session"),
            )
            matches = run.held.digest == body["digest"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Unreachable(f"What answers at {self._wire.url} is not Holdpoint.", action=ask.action) from error
        run.until = self._end_of(run.held.timeout_seconds)
        if not matches:
            self._withdraw(run)
            sentence = "The service understood something else than what was asked for."
            raise ClaimRefused(sentence, problem="digest_mismatch", action=ask.action, id=run.held.id)
        if run.held.status != "pending":
            run.record = _approved(body, ask.action)  # type: ignore[arg-type]

    def _await(self, id: str, action: str, token: Token, until: float) -> Record:
        began, tries = 0.0, 0

        def look() -> _Answer:
            nonlocal began
            began = time.monotonic()
            seconds = _hold_seconds + _call_seconds
            return self._wire.call("GET", f"/confirm/{id}?wait={_hold_seconds}", seconds=seconds, token=token)

        while True:
            # A little longer than its deadline, at which the service says that it is expired.
            end = until + _call_seconds if self._retry_seconds is None else time.monotonic() + self._retry_seconds
            answer = self._persist(look, end, token, action=action, id=id)
            if answer.body.get("id") != id or "status" not in answer.body:
                raise Unreachable(f"What answers at {self._wire.url} is not Holdpoint.", action=action, id=id)
            if answer.body["status"] != "pending":
                return _approved(answer.body, action)  # type: ignore[arg-type]
            # It shuts down, or has no room for those who wait.
            tries = 0 if time.monotonic() - began > 1 else tries + 1
            if tries > 0:
                token.pause(_backoff(tries))

    def _claim(self, run: _Run) -> None:
        held = run.held
        assert held is not None
        action, id, wanted = run.ask.action, held.id, held.digest
        lost = False

        def send() -> _Answer:
            nonlocal lost
            run.claim_was_sent = True
            try:
                answer = self._wire.call(
                    "POST", f"/confirm/{id}/claim", _members({"digest": wanted}), {"Idempotency-Key": run.claim_key}
                )
                # Every other 503 says that nothing was taken.
                is_told = answer.status == 503 and answer.problem not in ("outcome_unknown", "http_503")
                lost = lost or (answer.status >= 500 and not is_told)
                # A 202 is no claim either, nor any other success.
                if answer.status < 300 and not (answer.status == 200 and _is_claimed(answer.body, id, wanted)):
                    raise _Fault("it answers a claim with something else", sent=True)
            except _Fault as fault:
                lost = lost or fault.sent
                raise
            run.claim_was_sent = lost or answer.status == 200
            return answer

        seconds = _claim_seconds if self._retry_seconds is None else self._retry_seconds
        until = max(run.until, time.monotonic() + seconds)
        try:
            answer = self._persist(send, until, run.token, action=action, id=id)
        except Refused as error:
            raise ClaimRefused(str(error), problem=error.code, action=action, id=id) from error
        except (Unreachable, RateLimited) as error:
            if not lost:
                raise
            raise ClaimUncertain(f"The answer to the claim is lost. {error}", action=action, id=id) from error
        run.record = answer.body  # type: ignore[assignment]

    def _withdraw(self, run: _Run, seconds: float = _cleanup_seconds) -> None:
        """Leaves nothing behind on the service that waits for somebody, as far as it can be reached."""
        token, until = Token(), time.monotonic() + seconds

        def send(path: str, body: Details, key: str | None = None) -> _Answer:
            headers = {} if key is None else {"Idempotency-Key": key}
            left = max(0.5, until - time.monotonic())
            return self._wire.call("POST", path, _members(body), headers, seconds=min(_call_seconds, left))

        def insist(path: str, body: Details, key: str | None = None) -> _Answer:
            return self._persist(lambda: send(path, body, key), until, token)

        try:
            if run.held is None:
                if not run.was_sent:
                    return
                id = str(insist("/confirm", run.ask._body(), run.key).body["id"])
            else:
                id = run.held.id
            if run.held is not None and run.claim_was_sent:
                # The same claim: what was taken is closed, so that nobody has to look whether it happened.
                insist(f"/confirm/{id}/claim", {"digest": run.held.digest}, run.claim_key)
                insist(f"/confirm/{id}/report", {"outcome": "failed", "message": "It was not run."}, str(uuid.uuid4()))
            elif run.is_own:
                insist(f"/confirm/{_checked(id)}/cancel", {"reason": "Nobody waits for it any more."})
        except (HoldpointError, _Aborted, KeyError, ValueError) as error:
            _log.info("A request of %s was not withdrawn: %s", run.ask.action, error)

    def _report(self, run: _Run, error: BaseException | None) -> None:
        """Says how the act went. Whatever becomes of that, the act's own end is what counts."""
        held = run.held
        assert held is not None
        body: Details = {"outcome": "succeeded" if error is None else "failed"}
        message = run.message if error is None else _describe(error)
        if message:
            body["message"] = message.replace("\0", "").encode(errors="replace").decode()[:1000]
        key = str(uuid.uuid4())
        action, id = run.ask.action, held.id

        def send() -> _Answer:
            return self._wire.call("POST", f"/confirm/{id}/report", _members(body), {"Idempotency-Key": key})

        def insist(seconds: float) -> None:
            self._persist(send, time.monotonic() + seconds, Token(), action=action, id=id)

        def insist_on() -> None:
            try:
                insist(_report_seconds)
            except HoldpointError as problem:
                _log.warning("The outcome of %s (%s) could not be reported: %s", action, id, problem)

        try:
            # Nobody waits for it longer than this; a thread that keeps no program alive goes on.
            insist(_cleanup_seconds if self._retry_seconds is None else min(_cleanup_seconds, self._retry_seconds))
        except HoldpointError as problem:
            cause = problem.__cause__
            if isinstance(problem, (Unreachable, RateLimited)) and not (isinstance(cause, _Fault) and cause.lasting):
                _log.warning(
                    "The outcome of %s (%s) could not be reported yet, and is tried on: %s", action, id, problem
                )
                threading.Thread(target=insist_on, name="holdpoint report", daemon=True).start()
            else:
                _log.warning("The outcome of %s (%s) could not be reported: %s", action, id, problem)

    # -- calls

    def _persist(
        self, send: Callable[[], _Answer], until: float, token: Token, *, action: str = "", id: str | None = None
    ) -> _Answer:
        """An answer below 300. Network faults, 5xx and 429 are retried until then; what else is refused is raised."""
        tries = 0
        while True:
            token.check()
            wait, failure = 0.0, None
            try:
                answer = send()
            except _Fault as fault:
                failure = self._away(fault, action, id)
                if fault.lasting:
                    raise failure from fault
            else:
                if answer.status < 300:
                    return answer
                wait = answer.retry_after or 0.0
                failure = self._failure(answer, wait, action, id)
                if isinstance(failure, (Refused, Suspended)) or answer.problem == "circuit_open":
                    raise failure
            tries += 1
            pause = max(wait, _backoff(tries))
            left = until - time.monotonic()
            if pause > left:
                # That there will be room, and when, is an answer; to be sent away until the end is none.
                if isinstance(failure, RateLimited) and wait <= max(0.0, left):
                    sentence = f"Holdpoint at {self._wire.url} had no room until the deadline: {failure}"
                    raise Unreachable(sentence, action=action, id=id) from failure
                raise failure
            token.pause(pause)

    def _away(self, fault: _Fault, action: str, id: str | None) -> Unreachable:
        return Unreachable(f"Holdpoint at {self._wire.url} cannot be reached: {fault}.", action=action, id=id)

    def _failure(self, answer: _Answer, wait: float, action: str, id: str | None) -> HoldpointError:
        problem, sentence = answer.problem, answer.sentence
        if answer.status == 429:
            return RateLimited(sentence, problem=problem, retry_after_seconds=wait, action=action, id=id)
        if problem == "session_suspended":
            return Suspended(sentence, reason=_text(answer.body.get("reason")), action=action, id=id)
        if answer.status >= 500 or answer.status == 408:
            return Unreachable(f"Holdpoint at {self._wire.url} cannot answer: {sentence}", action=action, id=id)
        return Refused(sentence, code=problem, status=answer.status, body=answer.body, action=action, id=id)

    def _ask(self, method: str, path: str, body: Details | None = None, *, id: str | None = None) -> Details:
        text = None if body is None else _members(body)
        until = self._end_of(_verb_seconds)
        return self._persist(lambda: self._wire.call(method, path, text), until, Token(), id=id).body

    def _pages(self, path: str, name: str, filters: Mapping[str, str | None]) -> Iterator[Record]:
        given = {key: value for key, value in filters.items() if value is not None}
        while True:
            page = self._ask("GET", f"{path}?{urlencode({'limit': '500', **given})}")
            yield from page[name]
            if page["next_cursor"] is None:
                return
            given["cursor"] = page["next_cursor"]

    def _decide(self, id: str, verb: str, ends_as: str, **fields: object) -> Decision:
        if not _whole_id.fullmatch(_checked(id)):
            raise Invalid("id: a decision takes the whole id, of what was shown")
        body = _members({name: value for name, value in fields.items() if value is not None})
        lost = False

        def send() -> _Answer:
            nonlocal lost
            try:
                answer = self._wire.call("POST", f"/confirm/{id}/{verb}", body)
            except _Fault as fault:
                lost = lost or fault.sent
                raise
            lost = lost or answer.status >= 500
            return answer

        try:
            return self._persist(send, self._end_of(_verb_seconds), Token(), id=id).body  # type: ignore[return-value]
        except Refused as error:
            # The first attempt may have stood although its answer was lost: what stands now is the answer.
            if lost and error.code in ("already_resolved", "already_voted"):
                record = self.show(id)
                if record["status"] in (ends_as, "pending"):
                    return {name: record[name] for name in Decision.__annotations__ if name in record}  # type: ignore
            raise

    def _follow(
        self, id: str | None, after: int | None, filters: Mapping[str, str], token: Token
    ) -> Generator[Event, None, None]:
        if not isinstance(self._wire, _Http):
            raise Refused("A fake has no events to follow", code="no_such_route", status=404)
        wire = self._wire
        path = "/events" if id is None else f"/confirm/{_checked(id)}/events"
        given = dict(filters) if after is None else {**filters, "after": str(after)}
        query = f"?{urlencode(given)}" if given else ""
        last: str | None = None
        seconds = _verb_seconds if self._retry_seconds is None else self._retry_seconds
        heard, tries = time.monotonic(), 0
        while True:
            token.check()
            # A comment comes every 15 seconds.
            connection = wire.connect(45)
            failure: HoldpointError | None = None
            wait = 0.0
            try:
                with token.holding(connection):
                    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
                    response = wire.send(connection, "GET", path + query, None, headers)
                    if response.status == 204:
                        return
                    if response.status != 200 or "text/event-stream" not in (response.getheader("Content-Type") or ""):
                        answer = wire._read(response)
                        wait = answer.retry_after or 0.0
                        failure = self._failure(answer, wait, "", id)
                        if isinstance(failure, Refused):
                            raise failure
                    else:
                        for number, text in _read_stream(response):
                            heard, tries = time.monotonic(), 0
                            last = number if number is not None else last
                            if text is not None:
                                yield json.loads(text)
                        heard = time.monotonic()
            except (_Fault, OSError, http.client.HTTPException, ValueError) as error:
                failure = Unreachable(f"Holdpoint at {wire.url} cannot be reached: {error}", id=id)
            finally:
                connection.close()
            tries += 1
            pause = max(wait, _backoff(tries))
            if failure is not None and time.monotonic() + pause > heard + seconds:
                raise failure
            token.pause(pause)


def _read_stream(response: http.client.HTTPResponse) -> Iterator[tuple[str | None, str | None]]:
    """The id and the data of each message that is complete; no data for a comment."""
    number: str | None = None
    data: list[str] = []
    while line := response.readline(_max_answer):
        text = line.decode().rstrip("\r\n")
        if text == "":
            yield number, "\n".join(data) if data else None
            number, data = None, []
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            number = value
        elif name == "data":
            data.append(value)


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:
        return type(error).__name__


def _backoff(tries: int) -> float:
    """Longer each time, up to some seconds, and not in step with others."""
    return min(5.0, 0.05 * 2.0 ** min(tries, 8)) * random.uniform(0.5, 1.0)


def _duration(value: object, name: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e9:  # type: ignore[operator]
        raise Invalid(f"{name}: a number of seconds")
    return value  # type: ignore[return-value]


def _checked(id: str) -> str:
    if not _id_form.fullmatch(id):
        raise Invalid("id: letters, digits and hyphens")
    return id


def _finite(number: object) -> float:
    read = float(number)  # type: ignore[arg-type]
    if not math.isfinite(read):
        raise ValueError(f"{read} is no time")
    return read


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_claimed(body: Mapping[str, Any], id: str, wanted: str) -> bool:
    return (
        body.get("id") == id
        and body.get("digest") == wanted
        and body.get("execution") == "claimed"
        and body.get("status") in ("approved", "auto_approved")
    )


def _approved(record: Record, action: str) -> Record:
    """The record, if it is approved; else what it ended as is raised."""
    status, id, by = record["status"], record["id"], _text(record.get("resolved_by")) or ""
    action = action or _text(record.get("action")) or ""
    if status in ("approved", "auto_approved"):
        return record
    if status == "denied":
        raise Denied(action=action, id=id, by=by, reason=_text(record.get("reason")))
    if status == "cancelled":
        raise Cancelled(action=action, id=id, by=by, reason=_text(record.get("reason")))
    if status == "expired":
        raise Expired(f"Nobody answered the request for {action or 'this'} in time", action=action, id=id)
    sentence = f"The service knows a state that this client does not: {status}"
    raise Refused(sentence, code="unknown_status", action=action, id=id)


# -- the scope ---------------------------------------------------------------------------------------------------------


class Approval:
    """Inside, the approval is claimed and the act may happen, once. How the block ends is reported.

    `details` are what was approved. What `message` is set to goes into the report of a success.
    """

    def __init__(self, client: Holdpoint, ask: Ask, held: Held | None = None) -> None:
        self._client = client
        self._ask = ask
        self._held = held
        self._run: _Run | None = None
        self.details: Details = {}

    @property
    def record(self) -> Record:
        """The request as it was claimed."""
        record = self._entered().record
        assert record is not None
        return record

    @property
    def id(self) -> str:
        """Its id."""
        held = self._entered().held
        assert held is not None
        return held.id

    @property
    def message(self) -> str | None:
        """What the report of a success says."""
        return self._entered().message

    @message.setter
    def message(self, text: str | None) -> None:
        self._entered().message = text

    def _entered(self) -> _Run:
        if self._run is None:
            raise RuntimeError("enter it first: with client.approval(ask) as approved")
        return self._run

    def _begin(self) -> _Run:
        if self._run is not None:
            raise RuntimeError("an approval is good for one act: make another")
        # A copy of its own, which nobody else can change until the claim.
        # Of these classes and no other, which could answer otherwise each time.
        self._run = run = _Run(_as(Ask, self._ask), Token())
        if self._held is not None:
            self._held = _as(Held, self._held, ask=run.ask, id=_checked(self._held.id))
        return run

    def __enter__(self) -> Approval:
        run = self._begin()
        self._client._pass(run, self._held)
        self.details = _copy(run.ask.details)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._client._report(self._entered(), error)

    async def __aenter__(self) -> Approval:
        run = self._begin()

        def enter() -> None:
            self._client._pass(run, self._held)
            try:
                run.token.end()
            except _Aborted:
                give_up()
                raise

        def give_up() -> None:
            self._client._report(run, asyncio.CancelledError("it was not begun"))

        try:
            await _in_thread(enter, abort=run.token.abort, linger=_cleanup_seconds)
        except asyncio.CancelledError:
            # Claimed at the very moment at which it was called off.
            if not run.token.is_aborted:
                await _in_thread(give_up, linger=_cleanup_seconds)
            raise
        self.details = _copy(run.ask.details)
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        await _in_thread(lambda: self._client._report(self._entered(), error), linger=_cleanup_seconds)


async def _in_thread(fn: Callable[[], R], *, abort: Callable[[], object] | None = None, linger: float = 0) -> R:
    """Runs it in a thread of its own: those of asyncio are few, and an approval takes long.

    When the task is cancelled, it is aborted, and waited for so long.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def deliver(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
            future.exception()

    def work() -> None:
        result, problem = None, None
        try:
            result = context.run(fn)
        except _Aborted:
            problem = asyncio.CancelledError()
        except BaseException as error:
            problem = error
        try:
            loop.call_soon_threadsafe(deliver, result, problem)
        except RuntimeError:
            pass  # The loop is closed: nobody waits.

    context = contextvars.copy_context()
    threading.Thread(target=work, name="holdpoint", daemon=True).start()
    try:
        await asyncio.wait({future})
    except asyncio.CancelledError:
        if abort is not None:
            abort()
        if linger > 0:
            await asyncio.wait({future}, timeout=linger)
        raise
    return future.result()


# -- for asyncio -------------------------------------------------------------------------------------------------------


class AsyncHoldpoint:
    """The same for asyncio: each verb is awaited, and the loop is never blocked.

    Cancelling a task that waits in `run`, `approval` or a decorated coroutine withdraws its request on the service.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        retry_seconds: float | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._client = Holdpoint(url, key, retry_seconds=retry_seconds, ssl_context=ssl_context)

    @classmethod
    def fake(cls, answer: FakeAnswers = "pending") -> AsyncHoldpoint:
        """As `Holdpoint.fake`."""
        client = cls("http://127.0.0.1:6000", "fake")
        client._client = Holdpoint.fake(answer)
        return client

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    def require_approval(
        self,
        action: str,
        *,
        describe: str | Callable[[Details], str] | None = None,
        leave_out: Sequence[str] = (),
        session_key: str | Callable[[Details], str] = "",
        requester: str | None = None,
        on_behalf_of: str | Callable[[Details], str | None] | None = None,
        timeout_seconds: float | None = None,
        idempotency_key: Callable[[Details], str | None] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """As `Holdpoint.require_approval`."""
        return self._client.require_approval(
            action,
            describe=describe,
            leave_out=leave_out,
            session_key=session_key,
            requester=requester,
            on_behalf_of=on_behalf_of,
            timeout_seconds=timeout_seconds,
            idempotency_key=idempotency_key,
        )

    def approval(self, ask: Ask) -> Approval:
        """The scope: `async with client.approval(ask) as approved: await send(**approved.details)`."""
        return Approval(self._client, ask)

    async def run(self, ask: Ask, fn: Callable[[Details], Awaitable[R]]) -> R:
        """Awaits the function with the details, once they were approved and claimed; reports how it went."""
        async with self.approval(ask) as approved:
            result = await fn(approved.details)
            _refuse_generator(result)
            return result

    async def request(self, ask: Ask) -> Held:
        """Asks, and does not wait: for a run that outlives the process."""
        return await _in_thread(lambda: self._client.request(ask))

    async def wait(self, held: Held | str) -> Record:
        """Waits for the approval. Everything else that ends a request is raised."""
        token = Token()
        return await _in_thread(lambda: self._client._wait(held, token), abort=token.abort)

    async def act(self, held: Held, fn: Callable[[Details], Awaitable[R]]) -> R:
        """Claims what was approved, awaits the function with its details, and reports how it went."""
        async with Approval(self._client, held.ask, held) as approved:
            result = await fn(approved.details)
            _refuse_generator(result)
            return result

    async def cancel(self, id: str, *, by: str | None = None, reason: str | None = None) -> Decision:
        """Withdraws a request: the agent changed its mind."""
        return await _in_thread(lambda: self._client.cancel(id, by=by, reason=reason))

    async def call(self, method: str, path: str, body: Details | None = None, *, seconds: float = 30) -> Details:
        """Any request, once: what no verb is there for."""
        token = Token()
        return await _in_thread(
            lambda: self._client.call(method, path, body, seconds=seconds, token=token), abort=token.abort
        )

    async def pending(self, *, action: str | None = None, session_key: str | None = None) -> list[Record]:
        """All that wait for an answer, the next deadline first."""
        return await _in_thread(lambda: self._client.pending(action=action, session_key=session_key))

    async def audit(self, limit: int = 50, **filters: str) -> list[Record]:
        """The last requests in their latest state, the newest first."""
        return await _in_thread(lambda: self._client.audit(limit, **filters))

    async def show(self, id: str) -> Record:
        """One request, by its id or the last six characters of it or more."""
        return await _in_thread(lambda: self._client.show(id))

    async def approve(
        self,
        id: str,
        *,
        by: str | None = None,
        reason: str | None = None,
        remember: str | Mapping[str, Any] | None = None,
        typed_action: str | None = None,
    ) -> Decision:
        """Approves a request, by its whole id."""
        return await _in_thread(
            lambda: self._client.approve(id, by=by, reason=reason, remember=remember, typed_action=typed_action)
        )

    async def deny(self, id: str, *, by: str | None = None, reason: str | None = None) -> Decision:
        """Denies a request, by its whole id."""
        return await _in_thread(lambda: self._client.deny(id, by=by, reason=reason))

    async def follow(self, id: str | None = None, *, after: int | None = None, **filters: str) -> AsyncIterator[Event]:
        """The events of one request until its end, or all as they happen; goes on where it broke off."""
        token = Token()
        events = self._client._follow(id, after, filters, token)
        try:
            while (event := await _in_thread(lambda: next(events, None), abort=token.abort)) is not None:
                yield event
        finally:
            if not token.is_aborted:
                events.close()


# -- for tests ---------------------------------------------------------------------------------------------------------

_Named = Literal[
    "approved",
    "auto_approved",
    "pending",
    "denied",
    "expired",
    "cancelled",
    "claim_refused",
    "claim_uncertain",
    "rate_limited",
    "suspended",
    "unreachable",
]
FakeAnswer = Union[_Named, tuple[Literal["denied"], str]]
FakeAnswers = Union[FakeAnswer, Mapping[str, FakeAnswer], Callable[[Ask], FakeAnswer]]


class _FakeService:
    """Answers in memory, as the service would, what it was made with."""

    url = "a fake"

    def __init__(self, answers: FakeAnswers) -> None:
        self._answer = _answering(answers)
        self._changed = threading.Condition()
        self._records: dict[str, Details] = {}
        self._named: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._claims: dict[str, str | None] = {}

    def call(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: _Headers = {},
        *,
        seconds: float | None = None,
        token: Token | None = None,
    ) -> _Answer:
        parts = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        fields = _read(body) if body else {}
        key = headers.get("Idempotency-Key")
        with self._changed:
            match [method, *parts.path.strip("/").split("/")]:
                case ["POST", "confirm"]:
                    return self._submit(fields, key)
                case ["GET", "confirm" | "audit" as listing]:
                    status, action = query.get("status"), query.get("action")
                    found = [
                        _copy(one)
                        for one in reversed(self._records.values())
                        if status in (None, one["status"]) and action in (None, one["action"])
                    ]
                    name = "confirmations" if listing == "confirm" else "entries"
                    return _Answer(200, {name: found, "next_cursor": None})
                case ["GET", "confirm" | "short-ids" as by, id]:
                    ids = [one for one in self._records if (one == id if by == "confirm" else one.endswith(id))]
                    if len(ids) != 1:
                        return _refusal(404, "not_found", f"There is nothing with the id {id}.")
                    self._wait(self._records[ids[0]], float(query.get("wait", "0")), token)
                    return _Answer(200, _copy(self._records[ids[0]]))
                case ["POST", "confirm", id, verb] if id in self._records:
                    record = self._records[id]
                    if verb == "claim":
                        return self._claim(record, fields, key)
                    if verb == "report":
                        outcome, message = fields["outcome"], fields.get("message")
                        record.update(execution=outcome, outcome=outcome, report_message=message)
                        return _Answer(200, _copy(record))
                    if record["status"] != "pending":
                        return _refusal(409, "already_resolved", f"It is {record['status']}.")
                    by = fields.get("approver") or fields.get("denier") or fields.get("cancelled_by") or "api"
                    ends = {"approve": "approved", "deny": "denied", "cancel": "cancelled"}[verb]
                    self._resolve(record, ends, by, fields.get("reason"))
                    return _Answer(200, {name: record.get(name) for name in Decision.__annotations__})
                case _:
                    pass
        return _refusal(404, "not_found", "There is nothing there.")

    def _submit(self, fields: Details, key: str | None) -> _Answer:
        if key in self._keys:
            return _Answer(202, self._held(self._records[self._keys[key]]))
        ask = Ask(**fields)
        answer = self._answer(ask)
        named = _named(answer)
        if named == "unreachable":
            raise _Fault("a fake was told so", sent=False, lasting=True)
        if named == "rate_limited":
            return _Answer(429, _refusal(429, named, "This action had its confirmations for now.").body, 3600)
        if named == "suspended":
            return _refusal(423, "session_suspended", "This session was suspended.")
        now = time.time()
        requester = ask.requester or "agent"
        timeout = ask.timeout_seconds or _usual_seconds
        record: Details = {name: None for name in Record.__annotations__}
        record |= {
            **_copy(vars(ask)),
            "id": str(uuid.uuid4()),
            "requester": requester,
            "status": "pending",
            "resolved_by": "",
            "timeout_seconds": timeout,
            "created_at": now,
            "expires_at": now + timeout,
            "rule": "default",
            "risk": "normal",
            "digest_required": False,
            "approvals_needed": 1,
            "approvals_given": 0,
            "warnings": [],
            "votes": [],
            "comments": [],
            "digest": digest(
                ask.action,
                ask.details,
                requester=requester,
                session_key=ask.session_key,
                on_behalf_of=ask.on_behalf_of,
            ),
        }
        del record["idempotency_key"]
        self._records[record["id"]] = record
        self._named[record["id"]] = named
        if key is not None:
            self._keys[key] = record["id"]
        held = self._held(record)
        ends = "approved" if named.startswith("claim") else named
        if ends != "pending":
            reason = answer[1] if isinstance(answer, tuple) else None
            by = {"expired": "system:timeout", "auto_approved": "whitelist:fake"}.get(ends, "fake")
            self._resolve(record, ends, by, reason)
        return _Answer(200, _copy(record)) if named == "auto_approved" else _Answer(202, held)

    def _held(self, record: Details) -> Details:
        names = ("id", "action", "timeout_seconds", "requester", "digest", "expires_at")
        return {**{name: record[name] for name in names}, "status": "pending"}

    def _resolve(self, record: Details, status: str, by: str, reason: str | None) -> None:
        execution = "unclaimed" if "approved" in status else None
        record.update(status=status, resolved_by=by, resolved_at=time.time(), reason=reason, execution=execution)
        self._changed.notify_all()

    def _wait(self, record: Details, seconds: float, token: Token | None) -> None:
        until = time.monotonic() + seconds
        while record["status"] == "pending" and time.monotonic() < until:
            if time.time() >= record["expires_at"]:
                self._resolve(record, "expired", "system:timeout", None)
            if token is not None:
                token.check()
            self._changed.wait(0.02)

    def _claim(self, record: Details, fields: Details, key: str | None) -> _Answer:
        id = record["id"]
        if self._named[id] == "claim_uncertain":
            raise _Fault("a fake was told so", sent=True, lasting=True)
        if self._named[id] == "claim_refused":
            return _refusal(409, "approval_expired", "The approval was not claimed in time.")
        if record["execution"] is None:
            return _refusal(409, "not_approved", f"It is {record['status']}.")
        if fields["digest"] != record["digest"]:
            return _refusal(409, "digest_mismatch", "This is not what was approved.")
        if record["execution"] != "unclaimed" and (record["execution"] != "claimed" or self._claims[id] != key):
            return _refusal(409, "already_claimed", "An approval is good for one act.")
        self._claims[id] = key
        record.update(execution="claimed", claimed_at=time.time())
        return _Answer(200, _copy(record))


def _answering(answers: FakeAnswers) -> Callable[[Ask], FakeAnswer]:
    if isinstance(answers, (str, tuple)):
        one = cast(FakeAnswer, answers)
        _named(one)
        return lambda _: one
    if callable(answers):
        return answers
    by_action = dict(answers)
    for one in by_action.values():
        _named(one)
    return lambda ask: by_action.get(ask.action, "denied")


def _named(answer: FakeAnswer) -> str:
    name, known = answer[0] if isinstance(answer, tuple) else answer, get_args(_Named)
    if name not in known or (isinstance(answer, tuple) and name != "denied"):
        raise ValueError(f"a fake answers {', '.join(known)} or ('denied', reason), not {answer!r}")
    return name


def _refusal(status: int, code: str, sentence: str) -> _Answer:
    return _Answer(status, {"code": code, "error": sentence})


# -- the decorator -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Options:
    describe: str | Callable[[Details], str] | None
    leave_out: tuple[str, ...]
    session_key: str | Callable[[Details], str]
    requester: str | None
    on_behalf_of: str | Callable[[Details], str | None] | None
    timeout_seconds: float | None
    idempotency_key: Callable[[Details], str | None] | None


def _is_async(fn: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))


def _refuse_async(fn: Callable[..., object]) -> None:
    if _is_async(fn):
        raise TypeError("a coroutine is run by AsyncHoldpoint, or inside `async with client.approval(ask)`")


def _refuse_generator(result: object) -> None:
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the function answers a generator, which acts later than it is called: make it a list")


def _plain(result: R) -> R:
    """The result, which must not be an act that has yet to happen: it would be reported before."""
    _refuse_generator(result)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("the function answers something to be awaited: make it an async def")
    return result


def _decorator(
    client: Callable[[], Holdpoint], action: str, options: _Options
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    if type(action) is not str or action.strip(_blank) == "":
        raise TypeError('say which action it is: @require_approval("send_mail")')

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        bind = _binder(fn, action, options)

        @functools.wraps(fn)
        async def in_time(*args: P.args, **kwargs: P.kwargs) -> Any:
            ask, call = bind(args, kwargs)
            async with client().approval(ask) as approved:
                result = cast(object, await call(approved.details))  # type: ignore[misc]
                _refuse_generator(result)
                return result

        @functools.wraps(fn)
        def at_once(*args: P.args, **kwargs: P.kwargs) -> R:
            ask, call = bind(args, kwargs)
            with client().approval(ask) as approved:
                return _plain(call(approved.details))

        return in_time if _is_async(fn) else at_once  # type: ignore[return-value]

    return decorate


def _binder(
    fn: Callable[..., R], action: str, options: _Options
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Ask, Callable[[Details], R]]]:
    """From arguments to what is asked for, and to the call with what was approved."""
    name = getattr(fn, "__name__", action)
    above = type(cast(object, fn))
    if above in (staticmethod, classmethod):
        raise TypeError(f"{name}: put @require_approval below @{above.__name__}")
    if inspect.isclass(fn) or not callable(fn):
        raise TypeError(f"{name}: @require_approval is for functions and coroutines")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise TypeError(f"{name}: a generator acts later than it is called, when nobody knows whether it was approved")
    signature = inspect.signature(fn)
    parameters = list(signature.parameters.values())
    unknown = [one for one in options.leave_out if one not in signature.parameters]
    if unknown:
        raise TypeError(f"{name}: leave_out names {unknown[0]!r}, which is no parameter of it")
    handed_on = set(options.leave_out)
    # A method, as it is seen inside its class.
    outer = getattr(fn, "__qualname__", "").rpartition(".")[0]
    if outer and not outer.endswith("<locals>") and parameters and parameters[0].name in ("self", "cls"):
        handed_on.add(parameters[0].name)
    doc = (inspect.getdoc(fn) or "").strip().partition("\n")[0].strip()

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Ask, Callable[[Details], R]]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        details: Details = {}
        for parameter in parameters:
            if parameter.name not in handed_on:
                value = bound.arguments[parameter.name]
                details[parameter.name] = list(value) if parameter.kind is parameter.VAR_POSITIONAL else value
        try:
            canonical(details, name)
        except Invalid as error:
            raise Invalid(f"{error}. What is no data belongs into leave_out.", action=action) from None
        details = _copy(details)
        given = {**bound.arguments, **_copy(details)}

        def chosen(option: Any) -> Any:
            return option(dict(given)) if callable(option) else option

        describe = options.describe
        description = describe(_copy(details)) if callable(describe) else describe or doc or action
        ask = Ask(
            action=action,
            description=description,
            details=details,
            session_key=chosen(options.session_key) or "",
            requester=options.requester,
            on_behalf_of=chosen(options.on_behalf_of),
            timeout_seconds=options.timeout_seconds,
            idempotency_key=chosen(options.idempotency_key),
        )

        def call(approved: Details) -> R:
            for parameter in parameters:
                if parameter.name not in handed_on:
                    value = approved[parameter.name]
                    is_rest = parameter.kind is parameter.VAR_POSITIONAL
                    bound.arguments[parameter.name] = tuple(value) if is_rest else value
            return fn(*bound.args, **bound.kwargs)

        return ask, call

    return bind


_default: Holdpoint | None = None
_default_lock = threading.Lock()


def _client() -> Holdpoint:
    """The client of the module's own decorator, made when it is first needed."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Holdpoint()
        return _default


@contextmanager
def use(client: Holdpoint) -> Generator[Holdpoint, None, None]:
    """Until its end, the module's `require_approval` asks by this client: `with use(Holdpoint.fake("denied")): ...`."""
    global _default
    with _default_lock:
        before, _default = _default, client
    try:
        yield client
    finally:
        with _default_lock:
            _default = before


def require_approval(
    action: str,
    *,
    describe: str | Callable[[Details], str] | None = None,
    leave_out: Sequence[str] = (),
    session_key: str | Callable[[Details], str] = "",
    requester: str | None = None,
    on_behalf_of: str | Callable[[Details], str | None] | None = None,
    timeout_seconds: float | None = None,
    idempotency_key: Callable[[Details], str | None] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As `Holdpoint.require_approval`, by a client from HOLDPOINT_URL and HOLDPOINT_KEY, or the one given to `use`."""
    return _decorator(
        _client,
        action,
        _Options(describe, tuple(leave_out), session_key, requester, on_behalf_of, timeout_seconds, idempotency_key),
    )
