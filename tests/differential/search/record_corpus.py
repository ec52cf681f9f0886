"""Records programs with what PyTorch gives for them, for `differential replay`: corpus.jsonl. Programs that disagree today,
and those whose result depends on rounding, are named in left_out.txt with the reason.
usage: record_corpus.py BINARY [PROGRAMS [SEED]]"""

import json
import pathlib
import sys

import torch

import wanted
from compare import bounds, random_names
from generator import program
from machine import Machine
from op import OPS
from runner import Tandem, run_both

FOLDER = pathlib.Path(__file__).parent.parent


def weight(projection, i):
    """As in replay.cpp."""
    x = (i + 1) * (0.6180339887498949 if projection == 0 else 0.7548776662466927)
    positive = 0.5 + x % 1
    return -positive if projection == 1 and i % 2 == 1 else positive


def projected(dtype, values):
    """Two weighted sums, how far they may be off, and where values are not finite."""
    finite = [(i, float(v)) for i, v in enumerate(values) if abs(v) < float("inf")]
    sums = [sum(weight(k, i) * v for i, v in finite) for k in range(2)]
    size = sum(1.5 * abs(v) for _, v in finite)
    bound = sum(1.5 * b for b in bounds(dtype, values)) + 1e-12 * size  # the second: what adding up rounds
    record = {"p": [float(f"{s:.13g}") for s in sums], "b": float(f"{bound:.2g}") + float(f"{1e-12 * size:.2g}")}
    odd = "".join(f"{i}{v}" for i, v in enumerate(values) if not abs(v) < float("inf"))
    return {**record, "odd": odd} if odd else record


def expected(steps, result):
    skipped = random_names(steps)

    def tensor(name, t):
        if not isinstance(t, list):
            return t
        return [*t[:6], None if name in skipped else projected(t[0], t[6])]

    return {
        "errors": [i for i, e in enumerate(result["errors"]) if e],
        "values": {name: tensor(name, t) for name, t in result["values"].items()},
        "grads": {name: tensor("", t) for name, t in result["grads"].items()},
        "hooks": {name: [[*call[:2], projected(call[0], call[2])] for call in calls]
                  for name, calls in result["hooks"].items()},
    }


def main():
    binary, count, seed = sys.argv[1], int((sys.argv + [2000])[2]), (sys.argv + [0, "corpus"])[3]
    tandem = Tandem(binary)
    lines, left_out = [], []
    for index in range(count):
        steps, theirs = program(seed, index)
        found, ours, theirs = run_both(tandem, steps, theirs)
        if found:
            first = next((d for d in found if not wanted.reason_of(d, steps, ours, theirs)), found[0])
            reason = wanted.reason_of(first, steps, ours, theirs)
            why = f"wanted: {reason}" if reason else f"{first.kind} of {wanted.op_of(first, steps)}"
            left_out.append(f"{seed}:{index} {why}")
        elif wanted.depends_on_rounding(steps, theirs):
            left_out.append(f"{seed}:{index} wanted: rounding that is amplified")
            continue
        entry = {"id": f"{seed}:{index}", "steps": steps, "expect": expected(steps, theirs)}
        lines.append(json.dumps(entry, separators=(",", ":")))
    (FOLDER / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    head = f"# Programs of corpus.jsonl that do not agree, and why: recorded with PyTorch {torch.__version__}.\n"
    (FOLDER / "left_out.txt").write_text(head + "\n".join(left_out) + "\n")
    print(f"{len(lines)} programs, {len(left_out)} left out, {(FOLDER / 'corpus.jsonl').stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
