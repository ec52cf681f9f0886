"""Times DDP over Gloo in Tandem and in PyTorch, with two ranks of one thread each. The two programs take turns. Prints medians
over the rounds, and PyTorch's time divided by Tandem's. Run it with a Python that has torch.
"""
import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command):
    done = subprocess.run(command, capture_output=True, text=True,
                          env=dict(os.environ, TANDEM_NUM_THREADS="1", OMP_NUM_THREADS="1"))
    line = next((line for line in done.stdout.splitlines() if "{" in line), None)  # the launcher prefixes lines with the rank
    if line is None:  # not the exit status: PyTorch's ranks may abort after printing the line, when their threads end
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(line[line.index("{"):])


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a build folder of Tandem with its benchmarks, such as build/release")
    parser.add_argument("rounds", type=int, nargs="?", default=5, help="number of measurements of each program (default: 5)")
    parser.add_argument("json", type=Path, nargs="?", help="write every sample to this file")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"rounds is {asked.rounds}; accepted: 1 or more")
    if not (asked.build / "benchmarks/benchmark_ddp").exists():
        parser.error(f"{asked.build} has no benchmarks/benchmark_ddp; `./run build` builds it in build/release")
    if importlib.util.find_spec("torch") is None:
        parser.error(f"{sys.executable} has no torch; run benchmarks/peers/setup.sh, and use .peers/python")
    return asked


def main():
    asked = arguments()
    build, rounds = asked.build, asked.rounds
    commands = {
        "tandem": [build / "tools/tandem", "launch", "-n", "2", "--", build / "benchmarks/benchmark_ddp"],
        "pytorch": [sys.executable, HERE / "ddp_torch.py"],
    }
    samples = {name: {} for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            for key, value in run(command).items():
                samples[name].setdefault(key, []).append(value)
    medians = {name: {key: statistics.median(v) for key, v in s.items()} for name, s in samples.items()}
    ratio = {key: medians["pytorch"][key] / ms for key, ms in medians["tandem"].items() if key in medians["pytorch"]}
    print(f"{'milliseconds':24}{'Tandem':>10}{'PyTorch':>10}{'ratio':>8}")
    for key, ms in medians["pytorch"].items():
        ours = medians["tandem"].get(key)
        print(f"{key:24}{ours if ours is not None else float('nan'):10.3f}{ms:10.3f}{ratio.get(key, float('nan')):8.2f}")
    print(f"share of the communication that Tandem's backward hid: {medians['tandem']['hidden_share']:.2f}")
    if asked.json:
        commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        asked.json.write_text(json.dumps({
            "cpu": cpu(), "cores": os.cpu_count(), "ranks": 2, "threads_per_rank": 1, "rounds": rounds,
            "commit": commit.stdout.strip(), "command": "benchmarks/collectives/compare.py " + " ".join(sys.argv[1:]),
            "samples_ms": samples, "median_ms": medians, "pytorch_over_tandem": ratio}, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
