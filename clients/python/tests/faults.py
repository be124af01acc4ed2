# Many rounds through a network that does everything wrong: python3 -m tests.faults URL ROUNDS THREADS. Each is told as a
# line, once it is over; the program ends when the last report has arrived.
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
# Gives up soon, so that some claims remain uncertain.
hasty = holdpoint.Holdpoint(url, retry_seconds=0.05)
lock = threading.Lock()


def go(round: int) -> str:
    client = hasty if round % 10 == 3 else patient
    ran: list[Any] = []
    details: dict[str, Any] = {"round": round, "n": 1e16, "text": "\u20ac"}

    @client.require_approval(f"act-{round % 7}", describe=f"Round {round}")
    def act(round: int, n: float, text: str) -> int:
        ran.append({"round": round, "n": n, "text": text})
        return round

    @client.require_approval(f"act-{round % 7}", describe=f"Round {round}")
    async def act_later(round: int, n: float, text: str) -> int:
        ran.append({"round": round, "n": n, "text": text})
        return round

    try:
        result = asyncio.run(act_later(**details)) if round % 4 == 1 else act(**details)
        ended = "done" if result == round and ran == [details] else f"wrong: {result}, {ran}"
    except holdpoint.HoldpointError as error:
        ended = error.code
    return json.dumps({"round": round, "ran": len(ran), "ended": ended})


def work(turns: "Iterator[int]") -> None:
    while True:
        with lock:
            round = next(turns, None)
        if round is None:
            return
        told = go(round)
        with lock:
            print(told, flush=True)


turns = iter(range(rounds))
workers = [threading.Thread(target=work, args=[turns]) for _ in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
for thread in threading.enumerate():
    if thread.name == "holdpoint report":
        thread.join()
