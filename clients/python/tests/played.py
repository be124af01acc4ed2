# A service that is played: a fake behind a real socket, which loses, cuts and changes answers as a test tells it.
from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import holdpoint

# What becomes of a request: its number among those of its verb decides. Bytes are answered as they are.
Fate = Callable[[str, int], "str | bytes | None"]


class Played:
    """`fate` says "before" (it never arrives), "after" (its answer is lost), "cut" (half of it), bytes, or None."""

    def __init__(
        self,
        answer: holdpoint.FakeAnswers = "approved",
        fate: Fate = lambda _verb, _number: None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.service = holdpoint._FakeService(answer)
        self.fate = fate
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self._context = context
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Played:
        return self

    def __exit__(self, *_: object) -> None:
        # A thread that accepts goes on accepting after a mere close.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def verbs(self) -> list[str]:
        """What was asked, in order."""
        with self._lock:
            return [verb for verb, _, _, _ in self.requests]

    def keys(self, verb: str) -> list[str | None]:
        with self._lock:
            return [headers.get("idempotency-key") for one, _, headers, _ in self.requests if one == verb]

    def records(self) -> list[dict[str, Any]]:
        return list(self.service._records.values())

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as received:
                method, path, _ = received.readline().decode().split(" ")
                headers: dict[str, str] = {}
                while (line := received.readline().decode().strip()) != "":
                    name, _, value = line.partition(": ")
                    headers[name.lower()] = value
                body = received.read(int(headers.get("content-length", 0))).decode()
                connection.sendall(self._answer(method, path, headers, body))
        except (OSError, ValueError):
            pass

    def _answer(self, method: str, path: str, headers: dict[str, str], body: str) -> bytes:
        plain = path.partition("?")[0].strip("/").split("/")
        verb = plain[2] if len(plain) > 2 else "submit" if method == "POST" else "wait" if "wait=" in path else "read"
        with self._lock:
            number = sum(1 for one, _, _, _ in self.requests if one == verb)
            self.requests.append((verb, path, headers, json.loads(body) if body else None))
        fate = self.fate(verb, number)
        if isinstance(fate, bytes):
            return fate
        if fate == "before":
            raise OSError
        key = {"Idempotency-Key": headers["idempotency-key"]} if "idempotency-key" in headers else {}
        answer = self.service.call(method, path, body or None, key)
        if fate == "after":
            raise OSError
        retry = {} if answer.retry_after is None else {"retry_after_seconds": answer.retry_after}
        written = http(answer.status, {**answer.body, **retry})
        return written[: len(written) // 2] if fate == "cut" else written


def http(status: int, body: Any, *headers: str) -> bytes:
    """An answer as bytes."""
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "application/json" if not isinstance(body, str) else "text/html"
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", f"Content-Length: {len(text.encode())}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()


def problem(status: int, code: str, **more: Any) -> bytes:
    return http(status, {"code": code, "error": f"It is {code}.", **more})
