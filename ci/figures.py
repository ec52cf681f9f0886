#!/usr/bin/env python3
"""figures.py: checks that sections of README.md and docs/*.md with measured figures name command, date and machine.

Measured figures are times, rates or sizes in a table or in the output of a command. The command, the date and the
machine may stand in the section, or in the head of the page, which is all text before the second heading.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Pages without figures of our own: counts of names, and figures that others published.
OTHERS = {"libtorch_names.md": None, "simulate.md": "figures that others published, with their sources"}
FIGURE = re.compile(r"\b\d[\d.,]* ?(ns|us|ms|s|MiB|GB/s|TB/s|GFLOP/s|samples/s)\b|\b\d+\.\d\d %")
NEEDED = {
    "a date": re.compile(r"\b\d\d? (January|February|March|April|May|June|July|August|September|October|November|December)\s"
                         r"+20\d\d|\b20\d\d-\d\d-\d\d"),
    "a machine": re.compile(r"EPYC|Xeon|H100|H200|A100|V100"),
    "a command": re.compile(r"(`|^ {4})(\S*/)?(\./run|tandem|build/|benchmarks/|\.peers/|tests/|cmake|[a-z_]+_(test|inference)\b)", re.M),
}


def sections(text):
    """Returns (heading, text) of the page's head and of each section of the second level."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return [("", parts[0])] + list(zip(parts[1::2], parts[2::2]))


def shows_figures(text):
    """Returns whether a table or a command's output in the text has figures."""
    fenced, shown = False, []
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif line.startswith("|") or (not fenced and line.startswith("    ")):
            shown.append(line)
    units = re.search(r"\b(in us|in ms|microseconds|milliseconds)\b", text)  # the unit of tables whose cells have none
    return any(FIGURE.search(line) or (units and re.match(r"\|.*\| \d[\d.]* \|", line)) for line in shown)


def problems(page, text):
    found, head = [], ""
    for heading, body in sections(text):
        if not heading:
            head = body
        if not shows_figures(body):
            continue
        missing = [what for what, pattern in NEEDED.items() if not pattern.search(body) and not pattern.search(head)]
        if missing:
            found.append(f"{page}, '{heading or 'the head of the page'}' shows figures without {', '.join(missing)}")
    return found


def main():
    pages = [ROOT / "README.md"] + sorted((ROOT / "docs").glob("*.md"))
    found = [p for page in pages if page.name not in OTHERS for p in problems(page.relative_to(ROOT), page.read_text())]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
