"""Twenty pages of the app at once, each running the example: do all end, with what memory, how fast.

    python scripts/app_load.py --sessions 20 --rounds 2

Starts `proxycal app` on a free port and talks to it as browsers do: a page, its socket, the button of the
example, the roles that it suggests, and "calibrate". Meanwhile the page is asked for twice a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import websockets

SETTINGS = {"direction": "under", "scale": "linear", "log_proxies": None, "missing": "raise",
            "method": "auto", "effect": "constant", "level": 95, "seed": 0, "repetitions": 20,
            "picture": "residual"}  # fmt: skip


async def session(address: str) -> str:
    """One page to its answer; the verdict that it shows."""
    origin, _, query = address.partition("/?")
    cookie = f"proxycal-{origin.rpartition(':')[2]}={query.removeprefix('token=')}"
    socket = origin.replace("http", "ws") + "/websocket/"
    headers = {"Cookie": cookie}
    # As a browser, which sends no pings of its own.
    options = {"additional_headers": headers, "max_size": None, "ping_interval": None}
    async with websockets.connect(socket, origin=origin, **options) as line:
        await line.send(json.dumps({"method": "init", "data": SETTINGS}))
        await line.send(json.dumps({"method": "update", "data": {"example:shiny.action": 1}}))
        running = False
        async for text in line:
            told = json.loads(text)
            columns = (told.get("values", {}).get("columns") or {}).get("html", "")
            roles = re.findall(r'id="(role_\d+_\d+)".*?<option value="(\w*)" selected', columns, re.S)
            if roles and not running:
                running = True
                await line.send(json.dumps({"method": "update", "data": dict(roles)}))
                await line.send(json.dumps({"method": "update", "data": {"run:shiny.action": 1}}))
            status = str(told.get("custom", {}).get("status", ""))
            if status.startswith("Done"):
                return status
    raise RuntimeError("the page was closed")


def memory(pid: int) -> int:
    """Bytes of a process and all below it, pages that they share counted once for each part."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in family} - family
        family, grown = family | more, bool(more)
    total = 0
    for member in family:
        try:
            text = Path(f"/proc/{member}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"Pss:\s+(\d+)", text)[1]) * 1024
    return total


async def watch(address: str, pid: int, seen: dict[str, list[float]]) -> None:
    """Ask for the page, and measure."""
    while True:
        start = time.monotonic()
        await asyncio.to_thread(lambda: urllib.request.urlopen(address, timeout=60).read())
        seen["seconds"].append(time.monotonic() - start)
        seen["memory"].append(await asyncio.to_thread(memory, pid))
        await asyncio.sleep(0.5)


async def load(address: str, pid: int, sessions: int, rounds: int) -> None:
    """A line of JSON for every round."""
    for number in range(1, rounds + 1):
        seen: dict[str, list[float]] = {"seconds": [], "memory": []}
        watching = asyncio.create_task(watch(address, pid, seen))
        start = time.monotonic()
        ends = await asyncio.gather(*(session(address) for _ in range(sessions)), return_exceptions=True)
        took = time.monotonic() - start
        watching.cancel()
        await asyncio.sleep(5)
        ordered = sorted(seen["seconds"])
        print(json.dumps({
            "round": number, "sessions": sessions, "finished": sum(isinstance(end, str) for end in ends),
            "ends": sorted({str(end) for end in ends}), "seconds": round(took),
            "page_asked": len(ordered), "page_over_1s": sum(one > 1.0 for one in ordered),
            "page_median_s": round(ordered[len(ordered) // 2], 3), "page_worst_s": round(ordered[-1], 3),
            "peak_MiB": round(max(seen["memory"]) / 2**20), "after_MiB": round(memory(pid) / 2**20),
            "load": os.getloadavg()[0],
        }), flush=True)  # fmt: skip


def main() -> int:
    """Start the app, load it, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    command = [sys.executable, "-u", "-m", "proxycal", "app", "--port", "0", "--no-open"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        address = program.stdout.readline().split()[-1]
        asyncio.run(load(address, program.pid, given.sessions, given.rounds))
    finally:
        program.terminate()
        program.wait(30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
