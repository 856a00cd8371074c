"""Build the archive of an air station: two archives in one file, whose files come from two loggers."""

import gzip
import hashlib
import io
import random
import tarfile
from datetime import datetime, timedelta
from pathlib import Path

REMARKS = [
    "Straße gesperrt", "Filter getauscht;\nalter Filter: grau", "Wind böig", 'Anruf: "alles ruhig"', "Gerät geprüft\nkein Befund",
]  # fmt: skip


LATER_REMARKS = [*REMARKS, "Wartung – 20 min", "Laub auf dem Gitter … entfernt"]


def day_file(day: datetime, remarks: list[str], rng: random.Random) -> str:
    """One day as the logger's export writes it: semicolons, decimal commas, remarks that may span lines."""
    lines = ["Station;Zeit;PM10;Bemerkung"]
    for hour in range(24):
        # A disturbed sensor is written down as -88,8; the remark tells.
        disturbed = rng.random() < 0.04
        value = -88.8 if disturbed else round(rng.uniform(6, 61), 1)
        remark = "Sensor gestört" if disturbed else (rng.choice(remarks) if rng.random() < 0.15 else "")
        if any(c in remark for c in ';"\n'):
            remark = '"' + remark.replace('"', '""') + '"'
        time = (day + timedelta(hours=hour)).strftime("%Y-%m-%d %H:%M")
        lines.append(f"Fürth-7;{time};{value:.1f};{remark}".replace(".", ","))
    return "\n".join(lines) + "\n"


def main() -> None:
    rng = random.Random(7)
    files: dict[str, bytes] = {}
    for number in range(20):
        day = datetime(2024, 5, 1) + timedelta(days=number)
        # The second logger, from the 11th on, exports UTF-16.
        text = day_file(day, REMARKS if number < 10 else LATER_REMARKS, rng)
        files[f"{day:%Y-%m-%d}.csv"] = text.encode("latin-1") if number < 10 else b"\xff\xfe" + text.encode("utf-16-le")
    manifest = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())

    def archive(part: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, data in part.items():
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(data), 1716249600
                tar.addfile(member, io.BytesIO(data))
        return gzip.compress(buffer.getvalue(), mtime=0)

    names = sorted(files)
    first = archive({"SHA256SUMS": manifest.encode()} | {n: files[n] for n in names[:10]})
    second = archive({n: files[n] for n in names[10:]})
    inbox = Path("/app/inbox")
    inbox.mkdir(parents=True)
    (inbox / "station.tar.gz").write_bytes(first + second)


main()
