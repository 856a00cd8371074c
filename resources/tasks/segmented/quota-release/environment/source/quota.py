"""quota.py check NAME MB | show KEY | version"""

import configparser
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
limits = configparser.ConfigParser()
limits.read(HERE / "limits.ini")


def used(name):
    rows = (HERE / "fixtures" / "usage.tsv").read_text().splitlines()
    return dict((n, int(mb)) for n, mb in (row.split("\t") for row in rows)).get(name, 0)


def limit(name):
    if limits.has_option("people", name):
        return limits.getint("people", name)
    return limits.getint("disk", "default")


def version():
    return (HERE / "VERSION").read_text().strip().removeprefix("v")


def check(name, mb):
    free = limit(name) - used(name)
    return "allowed" if mb <= free else "refused"


def main(args):
    if args[0] == "check":
        print(check(args[1], int(args[2])))
    elif args[0] == "show":
        print(limits.get("disk", args[1]))
    elif args[0] == "version":
        print(version())


if __name__ == "__main__":
    main(sys.argv[1:])
