#!/usr/bin/env python3
"""Times an epoch of FashionMNIST, read from its files, with FashionCNN in batches of 128: `tandem demo`, `tandem demo
--capture`, and PyTorch with its best settings (channels-last, no memory returned to the system, the images as floats in the
device's memory). The programs take turns. Prints medians over the rounds: seconds of the epoch, seconds of the whole program
(start, reading the files, the epoch, the test images), and peak memory on the host. Run it with a Python that has torch.
"""
import argparse
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT_HEAP = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"}


def timed(command, environment):
    """Runs a command. Returns its output, its seconds, and its peak resident memory in MiB."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
        out.seek(0)
        return out.read(), time.perf_counter() - start, usage.ru_maxrss / 1024


def tandem(asked, *options):
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "demo.json"
        _, whole, memory = timed([asked.build / "tools/tandem", "demo", "--mode", "single", "--device", asked.device,
                                  "--threads", str(asked.threads), "--data", asked.data, "--epochs", str(asked.epochs),
                                  "--json", result, *options], {})
        run = json.loads(result.read_text())["runs"][0]
    return {"epoch_s": run["seconds"] / asked.epochs, "program_s": whole, "peak_mib": memory, "accuracy": 100 * run["test_accuracy"]}


def pytorch(asked):
    text, whole, memory = timed([sys.executable, HERE / "peers/accuracy_torch.py", asked.data, "1",
                              str(asked.epochs), asked.device],
                             dict(KEPT_HEAP, OMP_NUM_THREADS=str(asked.threads)))
    accuracy, seconds = re.search(r"([\d.]+) % in ([\d.]+) s", text).groups()
    return {"epoch_s": float(seconds) / asked.epochs, "program_s": whole, "peak_mib": memory, "accuracy": float(accuracy)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a build folder of Tandem, such as build/release")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="the folder of the four .gz files")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where to compute (default: cpu)")
    parser.add_argument("--epochs", type=int, default=1, help="number of epochs of each program; their mean counts (default: 1)")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements of each program (default: 3)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each program (default: one per core)")
    parser.add_argument("--json", type=Path, help="write every sample to this file")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"--rounds is {asked.rounds}; accepted: 1 or more")
    if not (asked.build / "tools/tandem").exists():
        parser.error(f"{asked.build} has no tools/tandem; `./run build` builds it in build/release")
    if importlib.util.find_spec("torch") is None:
        parser.error(f"{sys.executable} has no torch; run benchmarks/peers/setup.sh, and use .peers/python")
    return asked


def main():
    asked = arguments()
    programs = {"tandem": tandem, "tandem captured": lambda a: tandem(a, "--capture"), "pytorch": pytorch}
    samples = {name: [] for name in programs}
    for _ in range(asked.rounds):
        for name, run in programs.items():
            samples[name].append(run(asked))
    medians = {name: {key: statistics.median(s[key] for s in all) for key in all[0]} for name, all in samples.items()}
    print(f"{'':18}{'epoch, s':>10}{'program, s':>12}{'peak, MiB':>11}{'accuracy':>10}{'epoch, PyTorch / this':>24}")
    for name, m in medians.items():
        print(f"{name:18}{m['epoch_s']:10.2f}{m['program_s']:12.1f}{m['peak_mib']:11.0f}{m['accuracy']:10.1f}"
              f"{medians['pytorch']['epoch_s'] / m['epoch_s']:24.2f}")
    if asked.json:
        import torch
        commit = subprocess.run("git rev-parse --short HEAD 2>/dev/null || cat commit", shell=True, cwd=HERE,
                                capture_output=True, text=True)
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                   platform.machine())
        gpu = torch.cuda.get_device_name() if asked.device == "cuda" else None
        asked.json.write_text(json.dumps({
            "cpu": cpu, "gpu": gpu, "threads": asked.threads, "rounds": asked.rounds, "pytorch": torch.__version__,
            "commit": commit.stdout.strip(), "command": "benchmarks/epoch.py " + " ".join(sys.argv[1:]),
            "samples": samples, "medians": medians}, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
