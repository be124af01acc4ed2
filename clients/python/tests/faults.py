# Many runs through a network that does everything wrong: python3 faults.py URL ROUNDS THREADS. Each is told as a line.
import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import holdpoint

# A request that is never answered costs as long as this.
holdpoint._call_seconds = 0.5
holdpoint._hold_seconds = 1
holdpoint._log.setLevel("CRITICAL")

url, rounds, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
patient = holdpoint.Holdpoint(url)
# Gives up soon, so that claims remain uncertain.
hasty = holdpoint.Holdpoint(url, retry_seconds=0.05)
lock = threading.Lock()


def details_of(round: int) -> "dict[str, Any]":
    return {"round": round, "wish": ("approve", "approve", "approve", "approve", "deny")[round % 5], "n": 1e16}


def ask_of(round: int) -> holdpoint.Ask:
    # One in twenty is answered by nobody.
    wish = {"wish": "nothing"} if round % 20 == 7 else {}
    return holdpoint.Ask("act", f"Round {round}", {**details_of(round), **wish}, timeout_seconds=2 if wish else 60)


def tell(**fields: Any) -> None:
    with lock:
        print(json.dumps(fields), flush=True)


def go(round: int) -> None:
    ran: list[Any] = []
    code, result = None, None
    ask = ask_of(round)
    client = hasty if round % 10 == 3 else patient

    def act(details: "dict[str, Any]") -> int:
        ran.append(details)
        return round

    async def act_later(details: "dict[str, Any]") -> int:
        return act(details)

    async def run() -> int:
        async with client.approval(ask) as approved:
            return await act_later(approved.details)

    try:
        result = asyncio.run(run()) if round % 4 == 3 else client.run(ask, act)
    except holdpoint.HoldpointError as error:
        code = error.code
    tell(round=round, ran=len(ran), exact=all(one == ask.details for one in ran), code=code, result=result)


def work(turns: "Iterator[int]") -> None:
    while True:
        with lock:
            round = next(turns, None)
        if round is None:
            return
        go(round)


turns = iter(range(rounds))
workers = [threading.Thread(target=work, args=[turns]) for _ in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
