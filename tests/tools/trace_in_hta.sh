#!/usr/bin/env bash
# Tests that HolisticTraceAnalysis (HTA) loads a trace of an emulated GPU, and finds the same idle, compute and
# non-compute time as `tandem trace`, within 1 %. Exits with 77 ("skipped" for ctest) if no known Python has HTA (pip
# install HolisticTraceAnalysis).
# usage: trace_in_hta.sh TANDEM_COMMAND
set -euo pipefail
python=$(./python_with.sh hta)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" - "$folder" <<'PYTHON'
import struct
import sys

# Writes MNIST's four files, with 64 training and 16 test images.
for name, count in (("train", 64), ("t10k", 16)):
    with open(f"{sys.argv[1]}/{name}-images-idx3-ubyte", "wb") as f:
        f.write(struct.pack(">IIII", 0x803, count, 28, 28) + bytes(i * 37 % 256 for i in range(count * 784)))
    with open(f"{sys.argv[1]}/{name}-labels-idx1-ubyte", "wb") as f:
        f.write(struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count)))
PYTHON
"$1" trace --out "$folder/trace.json" --json "$folder/table.json" -- "$1" demo --device cuda --mode single --model mlp \
  --batch-size 16 --data "$folder" | tail -n 12
# By default HTA rounds to microseconds, which is a large error for short kernels.
HTA_DISABLE_NS_ROUNDING=1 "$python" - "$folder" <<'PYTHON'
import json
import sys

from hta.trace_analysis import TraceAnalysis

folder = sys.argv[1]
theirs = TraceAnalysis(trace_files={0: f"{folder}/trace.json"}).get_temporal_breakdown(visualize=False).iloc[0]
ours = json.load(open(f"{folder}/table.json"))["gpus"]
assert len(ours) == 1, ours
total = sum(ours[0][key] for key in ("compute_seconds", "non_compute_seconds", "idle_seconds"))
for column, key in [("idle_time(us)", "idle_seconds"), ("compute_time(us)", "compute_seconds"),
                    ("non_compute_time(us)", "non_compute_seconds")]:
    print(f"{key[:-8]:12} HTA {theirs[column] / 1e3:10.3f} ms, tandem trace {ours[0][key] * 1e3:10.3f} ms")
    assert abs(theirs[column] * 1e-6 - ours[0][key]) <= 0.01 * total, (column, theirs[column], ours[0][key])
    assert theirs[column] >= 0
PYTHON
