#!/usr/bin/env python3
"""What became slower between two commits, beside the fastest peer of the same run: times themselves depend on the machine
and its day, and are not kept.

  history.py add RESULT...     appends what `tandem bench --peers --json RESULT` wrote to history.jsonl
  history.py compare OLD NEW   the rows of two commits (their first letters) whose ratio fell by 5 % or more
  history.py list              which commits there are

A row's ratio is that of the fastest peer's median to Tandem's. Its interval goes from the smallest to the largest ratio of
the samples that were taken one after the other. A row is slower where the new interval lies below the old one, and doubtful
where they overlap.
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
    """By case: the fastest peer, and the ratio with its interval, three digits."""
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
                sys.exit(f"{path} has no peer's times; accepted: what `tandem bench --peers --json` wrote")
            line = {"commit": result["build"]["commit"][:12], "date": result["date"], "cpu": result["machine"]["cpu"],
                    "isa": result["machine"]["instruction_set"], "threads": result["settings"]["threads"],
                    "peers": {p["name"]: p["version"] for p in result["programs"][1:]}, "rows": rows}
            history.write(json.dumps(line, separators=(",", ":")) + "\n")
            print(f"{path}: {len(rows)} rows of {line['commit']}")


def entries():
    return [json.loads(line) for line in HISTORY.read_text().splitlines()] if HISTORY.exists() else []


def rows_at(commit):
    """All rows of the commit that begins so; of what was measured twice, the later."""
    found = [e for e in entries() if e["commit"].startswith(commit[:12])]
    if len({e["commit"] for e in found}) != 1:
        known = ", ".join(dict.fromkeys(e["commit"] for e in entries())) or "none"
        sys.exit(f"{len(found)} commits begin with {commit}; {HISTORY.name} has {known}")
    return {(e["cpu"], e["threads"], case): row for e in found for case, row in e["rows"].items()}


def compare(old, new):
    """1 where a row is slower."""
    before, after = rows_at(old), rows_at(new)
    shared = [key for key in before if key in after]
    if not shared:
        sys.exit(f"{old} and {new} share no row of one machine and number of threads")
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
