"""Searches for differences from PyTorch by running random programs: `./run differential`."""

import argparse
import collections
import json
import multiprocessing.connection
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import second_run  # noqa: E402
import wanted  # noqa: E402
from generator import program  # noqa: E402
from machine import NO_GRAD  # noqa: E402
from op import BASES, OPS  # noqa: E402
from print_program import cpp_text, python_text  # noqa: E402
from runner import Tandem, run_both  # noqa: E402
from shrink import shrink  # noqa: E402


def op_names(steps):
    return [s[0].removeprefix(NO_GRAD) for s in steps if s and s[0] not in ("make", "hook")]


def base(name):
    return name if name.startswith("operator") else name.split("/")[0]


def class_of(kind, step_op, message, ops):
    """Returns the key of a class of differences: the kind, and the error message of one side or the op."""
    if kind in ("throws", "does not throw"):
        side = "Tandem: " if kind == "throws" else "PyTorch: "
        text = message.split(side)[-1].split("; PyTorch: None")[0]
        return kind, re.sub(r"\d+|\[[^]]*\]|\([^)]*\)", "", text)[:70]
    if kind.startswith(("grad", "hook")) or step_op in ("make", "grad"):
        return kind, ", ".join(dict.fromkeys(base(o) for o in ops))
    return kind, base(step_op)


def is_explained(*found):
    return (second_run.settled_by(*found) or wanted.reason_of(*found)) is not None


def report_of(tandem, options, index, shrunk):
    steps, theirs = program(options.seed, index)
    found, ours, theirs = run_both(tandem, steps, theirs)
    settled = [second_run.settled_by(d, steps, ours, theirs) for d in found]
    left = [d for d, run in zip(found, settled) if run is None]
    reasons = [wanted.reason_of(d, steps, ours, theirs) for d in left]
    unwanted = [d for d, reason in zip(left, reasons) if reason is None]
    report = {"index": index, "ops": sorted({base(n) for n in op_names(steps)}), "reasons": sorted({r for r in reasons if r}),
              "settled": sorted({run for run in settled if run})}
    if unwanted:
        first = unwanted[0]
        rough = (first.kind, wanted.op_of(first, steps))
        report["rough"] = rough
        if shrunk[rough] < options.shrink:
            shrunk[rough] += 1
            small, difference = shrink(tandem, steps, first, is_explained)
            report.update(steps=small, detail=str(difference),
                          found=class_of(difference.kind, wanted.op_of(difference, small), difference.detail, op_names(small)))
    return report


def search(options, first, reports):
    """Runs a worker's programs from `first` on, sends their reports, and then sends None."""
    tandem = Tandem(options.binary, options.device)
    shrunk = collections.Counter()  # number of programs shrunk, by kind of difference and op
    for index in range(first, options.first + options.programs, options.workers):
        try:
            reports.send(report_of(tandem, options, index, shrunk))
        except Exception:  # an error of the search itself
            reports.send({"index": index, "failed": traceback.format_exc()})
    reports.send(None)


class Worker:
    """Runs each program whose number is `first` modulo the number of workers, in a process. If a bug of PyTorch ends
    the process, a new process continues with the next program."""

    def __init__(self, options, first):
        self.options = options
        self.start(first)

    def start(self, first):
        self.next = first
        self.reports, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=search, args=(self.options, first, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def report(self):
        """Returns the next report, or None after the last one."""
        index = self.next
        self.next += self.options.workers
        try:
            return self.reports.recv()
        except EOFError:
            self.process.join()
            status = self.process.exitcode
            self.start(self.next)
            return {"index": index, "failed": f"PyTorch ended the process with status {status}\n"}


def collect(options):
    workers = [Worker(options, options.first + w) for w in range(options.workers)]
    while workers:
        ready = multiprocessing.connection.wait([w.reports for w in workers])
        for worker in [w for w in workers if w.reports in ready]:
            report = worker.report()
            if report is None:
                worker.process.join()
                workers.remove(worker)
            else:
                yield report


def main():
    parser = argparse.ArgumentParser(prog="./run differential", description=__doc__,
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--binary", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--programs", type=int, default=2000, help="number of programs to run")
    parser.add_argument("--seed", default="1", help="seed of the programs: the same seed generates the same programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda (emulated if there is no GPU)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes that run programs")
    parser.add_argument("--shrink", type=int, default=3, help="number of differences of each kind and op that a worker shortens")
    parser.add_argument("--show", type=int, default=40, help="number of kinds of differences to print")
    parser.add_argument("--json", help="write all reports to this file")
    options = parser.parse_args()

    theirs = subprocess.run([options.binary, "ops"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    if set(theirs) != set(OPS):
        sys.exit(f"the op tables of Tandem and PyTorch differ: {sorted(set(theirs) ^ set(OPS))}")
    began = time.time()
    reports = list(collect(options))
    failed = [r for r in reports if "failed" in r]
    for r in failed[:3]:
        print(f"program {options.seed}:{r['index']} could not be run:\n{r['failed']}")
    reports = [r for r in reports if "failed" not in r]
    differ = [r for r in reports if "rough" in r]
    reasons = collections.Counter(reason for r in reports if "rough" not in r for reason in r["reasons"])
    wanted_only = sum(1 for r in reports if "rough" not in r and r["reasons"])
    settled_only = [r for r in reports if r["settled"] and not r["reasons"] and "rough" not in r]
    runs = collections.Counter(run for r in settled_only for run in r["settled"])
    groups, rough_groups = collections.defaultdict(list), collections.defaultdict(list)
    for r in differ:
        if "steps" in r:
            rough_groups[tuple(r["rough"])].append(r["found"])
    for r in differ:
        found = r.get("found") or (rough_groups[tuple(r["rough"])] or [("unshrunk", *r["rough"])])[0]
        groups[tuple(found)].append(r)
    for found, members in sorted(groups.items(), key=lambda g: -len(g[1]))[:options.show]:
        smallest = min((m for m in members if "steps" in m), key=lambda m: len(json.dumps(m["steps"])), default=None)
        print(f"==== {len(members)} programs ({100 * len(members) / len(reports):.2f} %): {': '.join(found)}")
        if smallest:
            print(f"program {options.seed}:{smallest['index']}, {smallest['detail']}")
            print("--- C++\n" + cpp_text(options.binary, smallest["steps"]))
            print("--- Python\n" + python_text(smallest["steps"]) + "\n")
    for name, reason, _ in wanted.WANTED:
        if reasons[name]:
            print(f"intended difference: {reasons[name]} programs: {name} ({reason})")
    for run, count in runs.most_common():
        print(f"agrees with a second run of PyTorch: {count} programs: {run}")
    calls = collections.Counter(op for r in reports for op in r["ops"])
    differing = collections.Counter(op for r in differ for op in r["ops"])
    rare = {op: calls[op] for op in BASES if calls[op] < len(reports) / 100}
    worst = sorted(BASES, key=lambda op: -differing[op] / max(calls[op], 1))[:12]
    print("ops that agree least: " + ", ".join(f"{op} {100 - 100 * differing[op] / max(calls[op], 1):.1f} % of {calls[op]}" for op in worst))
    if rare:
        print("ops in less than 1 % of the programs: " + ", ".join(f"{op} ({n})" for op, n in rare.items()))
    agree = len(reports) - len(differ) - wanted_only
    print(f"{len(reports)} programs of seed {options.seed}: {agree} agree ({100 * agree / len(reports):.2f} %; "
          f"{len(settled_only)} of them with a second run of PyTorch), {wanted_only} differ as intended "
          f"({100 * wanted_only / len(reports):.2f} %), {len(differ)} differ; {time.time() - began:.0f} s")
    if failed:
        print(f"{len(failed)} programs could not be run")
    if options.json:
        pathlib.Path(options.json).write_text("\n".join(json.dumps(r) for r in reports) + "\n")
    return 1 if differ or failed else 0


if __name__ == "__main__":
    sys.exit(main())
