"""Build the handbook's folder as it came from the old build machine."""

import os
import random
from pathlib import Path

TITLES = {
    "01-arrival.txt": "Arrival", "02-keys.txt": "Keys and doors", "03-heating.txt": "Heating", "04-roof.txt": "Dächer",
    "05-garden.txt": "Garden", "06-water.txt": "Water", "07-waste.txt": "Waste", "08-cellar.txt": "Cellar and stores",
    "09-leaving.txt": "Leaving",
}  # fmt: skip
WORDS = "valve meter gutter hatch fuse lever pump lamp cistern rake shutter boiler ladder sluice crate".split()


def main() -> None:
    rng = random.Random(42)
    home = Path("/app/handbook")
    src, out = home / "src", home / "out"
    src.mkdir()
    out.mkdir()
    (src / "titles.tsv").write_text("".join(f"{name}\t{title}\n" for name, title in TITLES.items()))
    for name, title in TITLES.items():
        terms = rng.sample(WORDS, 4)
        lines = [f"See to the *{term}* before you go on." for term in terms]
        text = f"= {title}\n" + "\n".join(lines) + "\n"
        if name == "07-waste.txt":  # somebody replaced the title
            text = "(to be reviewed)\n" + "\n".join(lines) + "\n"
        # One chapter was written on another system.
        (src / name).write_bytes(text.encode("latin-1" if name == "04-roof.txt" else "utf-8"))
    # An old build, from a machine whose clock was years ahead.
    (out / "handbook.txt").write_text("= Arrival\nAsk the warden.\n")
    os.utime(out / "handbook.txt", (1924992000, 1924992000))


main()
