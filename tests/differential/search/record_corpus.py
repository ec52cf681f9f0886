"""Records programs with PyTorch's results in corpus.jsonl, for `differential replay`. Programs are not recorded if
their differences are intended (wanted.py) or depend on the run of PyTorch (second_run.py), or if numbers differ, which
may agree in another build. Other programs that differ today are recorded and listed in left_out.txt.
usage: record_corpus.py BINARY [PROGRAMS [SEED]]"""

import json
import pathlib
import re
import subprocess
import sys

import torch

from compare import bounds, floor_of, random_names
from generator import program
from runner import Tandem, run_both
from second_run import settled_by
from wanted import reason_of

FOLDER = pathlib.Path(__file__).parent.parent


def weight(projection, i):
    """Returns the same weight as weight() in replay.cpp."""
    x = (i + 1) * (0.6180339887498949 if projection == 0 else 0.7548776662466927)
    positive = 0.5 + x % 1
    return -positive if projection == 1 and i % 2 == 1 else positive


def projected(dtype, values, floor):
    """Returns two weighted sums, their tolerance, and the positions of values that are not finite."""
    finite = [(i, float(v)) for i, v in enumerate(values) if abs(v) < float("inf")]
    sums = [sum(weight(k, i) * v for i, v in finite) for k in range(2)]
    rounded = 1e-9 * sum(1.5 * abs(v) for _, v in finite)  # sums are written with ten digits
    record = {"p": [float(f"{s:.10g}") for s in sums], "b": float(f"{sum(1.5 * b for b in bounds(dtype, values, floor)) + rounded:.2g}")}
    odd = "".join(f"{i}{v}" for i, v in enumerate(values) if not abs(v) < float("inf"))
    return {**record, "odd": odd} if odd else record


def contiguous(sizes, strides):
    expected = 1
    for size, stride in reversed(list(zip(sizes, strides))):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def expected(steps, result):
    """Returns the results in the form that replay.cpp compares (tensor_difference)."""
    skipped, floor = random_names(steps), floor_of(steps)

    def tensor(name, t):
        if not isinstance(t, list):
            return t
        strides = None if 0 in t[1] or contiguous(t[1], t[2]) else t[2]
        names = [] if t[4:6] == [name, name] else t[4:6]
        return [*t[:2], strides, t[3], *names, None if name in skipped else projected(t[0], t[6], floor)]

    return {
        "errors": [i for i, e in enumerate(result["errors"]) if e],
        "values": {name: tensor(name, t) for name, t in result["values"].items()},
        "grads": {name: tensor(None, t) for name, t in result["grads"].items()},
        "hooks": {name: [[*call[:2], projected(call[0], call[2], floor)] for call in calls]
                  for name, calls in result["hooks"].items()},
    }


def main():
    binary, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000, sys.argv[3] if len(sys.argv) > 3 else "0"
    corpus, left_out = FOLDER / "corpus.jsonl", FOLDER / "left_out.txt"
    tandem = Tandem(binary)
    with corpus.open("w") as out:
        for index in range(count):
            steps, theirs = program(seed, index)
            found, ours, theirs = run_both(tandem, steps, theirs)
            unwanted = [d for d in found if not (settled_by(d, steps, ours, theirs) or reason_of(d, steps, ours, theirs))]
            if found and not unwanted or any(d.kind.endswith(("values", "finite")) for d in unwanted):
                continue
            entry = {"id": f"{seed}:{index}", "steps": steps, "expect": expected(steps, theirs)}
            out.write(json.dumps(entry, separators=(",", ":")) + "\n")
    head = f"# Programs of corpus.jsonl (PyTorch {torch.__version__}) that do not agree, and where. Remove those that agree again: `differential replay` prints them.\n"
    of_arm64 = [line for line in left_out.read_text().splitlines(keepends=True) if " arm64: " in line]
    left_out.write_text(head + "".join(of_arm64))
    for device, prefix in (("cpu", ""), ("cuda", "cuda: ")):
        replay = [binary, "replay", corpus, "--left-out", left_out, "--device", device]
        replayed = subprocess.run(replay, capture_output=True, text=True).stdout
        with left_out.open("a") as out:
            for name, where in re.findall(r"^program (\S+): (.{0,80})", replayed, re.MULTILINE):
                out.write(f"{name} {prefix}{where}\n")
        print(replayed.splitlines()[-1])
    print(f"{corpus.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
