#!/usr/bin/env python3
"""tallyd: keeps meter readings in memory and gives them out over HTTP.  --config prints the settings in force."""

import configparser
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

HOME = Path(__file__).resolve().parent
DATA = HOME / "data" / "readings.json"
FIELDS = ("id", "meter", "value", "unit")


def settings():
    """{(section, key): (value, file that set it)}, later files before earlier ones."""
    found = {}
    for path in [HOME / "tally.conf", *sorted((HOME / "conf.d").glob("*.conf"))]:
        parser = configparser.ConfigParser()
        parser.read(path)
        for section in parser.sections():
            for key, value in parser.items(section):
                found[section, key] = (value, path.relative_to(HOME))
    return found


class Tally:
    def __init__(self):
        self.config = settings()
        self.started = time.time()
        self.readings = {r["id"]: r for r in json.loads(DATA.read_text())} if DATA.exists() else {}
        self.unsaved = 0
        self.lock = threading.Lock()
        self.open_log()

    def get(self, section, key):
        return self.config[section, key][0]

    @property
    def blocked(self):
        return set(self.get("blocked", "meters").split()) - {"none"}

    def open_log(self):
        self.log_file = open(HOME / "log" / "tally.log", "a", buffering=1)

    def log(self, text):
        self.log_file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {os.getpid()} {text}\n")

    def reload(self):
        self.config = settings()
        self.log(f"settings read, blocked meters: {' '.join(sorted(self.blocked)) or 'none'}")

    def reopen(self):
        self.log_file.close()
        self.open_log()
        self.log("log file opened anew")

    def store(self, received):
        taken = received[: int(self.get("server", "batch"))]
        accepted = [{k: r[k] for k in FIELDS} for r in taken if r["meter"] not in self.blocked]
        with self.lock:
            self.readings.update((r["id"], r) for r in accepted)
            self.unsaved += len(accepted)
        self.log(f"stored {len(accepted)} of {len(received)} readings")
        return {"received": len(received), "stored": len(accepted)}

    def page(self, after):
        size = int(self.get("server", "page"))
        rest = sorted(r for r in self.readings if r > after)
        more = len(rest) > size
        return {
            "readings": [self.readings[r] for r in rest[:size]],
            "next": f"/readings?after={rest[size - 1]}" if more else None,
        }

    def save(self):
        with self.lock:
            DATA.write_text(json.dumps(list(self.readings.values())))
            self.unsaved = 0
        self.log(f"saved {len(self.readings)} readings")
        return {"saved": len(self.readings)}


class Handler(BaseHTTPRequestHandler):
    def answer(self, body, status=200):
        data = (json.dumps(body) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/health":
            self.answer({"ok": True, "pid": os.getpid(), "started": round(tally.started, 3),
                         "readings": len(tally.readings), "unsaved": tally.unsaved})  # fmt: skip
        elif url.path == "/readings":
            self.answer(tally.page(parse_qs(url.query).get("after", [""])[0]))
        elif url.path.startswith("/meters/"):
            name = url.path.removeprefix("/meters/")
            count = sum(r["meter"] == name for r in tally.readings.values())
            self.answer({"meter": name, "readings": count, "blocked": name in tally.blocked})
        else:
            self.answer({"error": "no such page"}, 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/save":
            self.answer(tally.save())
        elif self.path == "/readings":
            try:
                self.answer(tally.store(json.loads(body)))
            except (ValueError, TypeError, KeyError) as error:
                self.answer({"error": f"not a list of readings as they must be: {error!r}"}, 400)
        else:
            self.answer({"error": "no such page"}, 404)

    def log_message(self, text, *args):
        tally.log(text % args)


if __name__ == "__main__":
    if "--config" in sys.argv:
        for (section, key), (value, path) in sorted(settings().items()):
            print(f"{section}.{key} = {value}  ({path})")
        sys.exit()
    tally = Tally()
    server = ThreadingHTTPServer(("127.0.0.1", int(tally.get("server", "port"))), Handler)
    stop = threading.Event()
    signal.signal(signal.SIGHUP, lambda *_: tally.reload())
    signal.signal(signal.SIGUSR1, lambda *_: tally.reopen())
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    tally.log(f"listening on 127.0.0.1:{server.server_port}")
    while not stop.wait(0.1):
        pass
    if tally.get("data", "save_on_stop") == "yes":
        tally.save()
    tally.log(f"stopping with {tally.unsaved} readings unsaved")
    server.shutdown()
    server.server_close()
