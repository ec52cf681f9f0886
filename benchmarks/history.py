#!/usr/bin/env python3
"""Shows which benchmarks became slower between two commits, relative to the fastest peer of the same run. Absolute times are
not kept, because they depend on the machine and vary from day to day.

  history.py add RESULT...     appends the results that `tandem bench --peers --json RESULT` wrote to history.jsonl
  history.py compare OLD NEW   prints the rows whose ratio fell by 5 % or more from commit OLD to NEW (prefixes are enough)
  history.py list              lists the commits in the history

The ratio of a row is the fastest peer's median divided by Tandem's median. Its interval goes from the smallest to the largest
ratio of neighbouring samples. A row is "slower" if the new interval lies below the old one, and "doubtful" if the intervals
overlap.
"""
import argparse
import json
import math
import statistics
import sys
from pathlib import Path

HISTORY = Path(__file__).resolve().parent / "history.jsonl"
FALL = 0.95


def rows_of(result):
    """Returns a dict from case to [fastest peer, ratio, low end of its interval, high end], rounded to three digits."""
    rows = {}
    for benchmark in result["benchmarks"]:
        results = dict(benchmark["results"])
        ours = results.pop("tandem", None)
        peers = {name: r for name, r in results.items() if r.get("samples_ms")}
        if not ours or not peers:
            continue
        peer = min(peers, key=lambda name: peers[name]["median_ms"])
        ratios = sorted(p / t for p, t in zip(peers[peer]["samples_ms"], ours["samples_ms"]))
        x = peers[peer]["median_ms"] / ours["median_ms"]
        rows[f"{benchmark['name']} {benchmark['shapes']}"] = [peer] + [float(f"{v:.3g}") for v in (x, ratios[0], ratios[-1])]
    return rows


def add(paths):
    with HISTORY.open("a") as history:
        for path in paths:
            result = json.loads(Path(path).read_text())
            rows = rows_of(result)
            if not rows:
                sys.exit(f"{path} has no peer's times; accepted: a file that `tandem bench --peers --json` wrote")
            line = {"commit": result["build"]["commit"][:12], "date": result["date"], "cpu": result["machine"]["cpu"],
                    "isa": result["machine"]["instruction_set"], "threads": result["settings"]["threads"],
                    "peers": {p["name"]: p["version"] for p in result["programs"][1:]}, "rows": rows}
            history.write(json.dumps(line, separators=(",", ":")) + "\n")
            print(f"{path}: {len(rows)} rows of {line['commit']}")


def entries():
    return [json.loads(line) for line in HISTORY.read_text().splitlines()] if HISTORY.exists() else []


def rows_at(commit):
    """Returns the rows of the commit with this prefix. If a case was measured twice, the later measurement counts."""
    found = [e for e in entries() if e["commit"].startswith(commit[:12])]
    if len({e["commit"] for e in found}) != 1:
        known = ", ".join(dict.fromkeys(e["commit"] for e in entries())) or "none"
        sys.exit(f"no single commit begins with {commit}; {HISTORY.name} has {known}")
    return {(e["cpu"], e["threads"], case): row for e in found for case, row in e["rows"].items()}


def compare(old, new):
    """Prints the rows that fell. Returns 1 if a row is slower, else 0."""
    before, after = rows_at(old), rows_at(new)
    shared = [key for key in before if key in after]
    if not shared:
        sys.exit(f"{old} and {new} share no row measured on the same machine with the same number of threads")
    change = {key: after[key][1] / before[key][1] for key in shared}
    slower = 0
    for key in sorted((k for k in shared if change[k] <= FALL), key=change.get):
        (_, was, low, _), (peer, now, _, high) = before[key], after[key]
        sure = high < low
        slower += sure
        print(f"{'slower' if sure else 'doubtful'}: {key[2]}, {key[1]} threads: {was:g} to {now:g} of {peer} ({change[key]:.2f})")
    mean = math.exp(statistics.fmean(map(math.log, change.values())))
    print(f"{len(shared)} rows, geometric mean of the changes {mean:.3f}, {slower} slower")
    return 1 if slower else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("add").add_argument("results", nargs="+")
    pair = commands.add_parser("compare")
    pair.add_argument("old")
    pair.add_argument("new")
    commands.add_parser("list")
    asked = parser.parse_args()
    if asked.command == "add":
        add(asked.results)
    elif asked.command == "compare":
        sys.exit(compare(asked.old, asked.new))
    else:
        for e in entries():
            print(f"{e['commit']} {e['date']} {len(e['rows'])} rows, {e['threads']} threads, {e['cpu']} {e['isa']}")


if __name__ == "__main__":
    main()
