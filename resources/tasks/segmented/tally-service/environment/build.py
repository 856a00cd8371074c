"""Build what tallyd finds on its machine: a pid file and half a data file left by a crash, and readings to be imported."""

import json
import random
from pathlib import Path

METERS = [f"M-{n:02d}" for n in range(1, 9)]
IN_WATT_HOURS = {"M-03", "M-06"}


def main() -> None:
    rng = random.Random(93)
    home = Path("/app/tally")
    for folder in ("run", "log", "data"):
        (home / folder).mkdir()
    # The process of that number is always there, and is never tallyd.
    (home / "run" / "tally.pid").write_text("1\n")
    # Cut off in the middle of a reading.
    (home / "data" / "readings.json").write_text(
        '[{"id": "r0001", "meter": "M-04", "value": 3.1, "unit": "kWh"}, {"id": "r00'
    )
    readings = []
    for number in range(1, 131):
        meter = rng.choice(METERS)
        # M-05 used most; only few of its readings are among the first.
        kwh = round(rng.uniform(2, 9) * (6 if meter == "M-05" and number > 60 else 1), 3)
        in_wh = meter in IN_WATT_HOURS and rng.random() < 0.5
        reading = {
            "id": f"r{number:04d}",
            "device": meter,
            "value": round(kwh * 1000) if in_wh else kwh,
            "unit": "Wh" if in_wh else "kWh",
        }
        readings.append(reading)
    inbox = Path("/app/inbox")
    inbox.mkdir()
    (inbox / "readings.json").write_text(json.dumps(readings))


main()
