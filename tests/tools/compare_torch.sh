#!/usr/bin/env bash
# Tests that `tandem compare` reads PyTorch's report, and adds its runs to a report of Tandem's. Exits with 77
# ("skipped" for ctest) if no known Python has torch.
# usage: compare_torch.sh TANDEM_COMMAND
set -euo pipefail
python=$(./python_with.sh torch)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
exporter="$python ../benchmarks/peers/compare_torch.py --model mlp --batch-size 16 --repeats 2 --steps 2"
$exporter --out "$folder/own.json"
"$1" compare page "$folder/own.json"
grep -q 'PyTorch DDP over gloo' "$folder/own.html"
"$1" compare --quick --model mlp --devices 2 --device cpu --batch-size 16 --repeats 2 --seconds 0.001 --backend local \
  --mode ddp_local --out "$folder" >/dev/null 2>&1
$exporter --into "$folder/report.json"
"$1" compare page "$folder/report.json"
grep -q 'PyTorch DDP over' "$folder/report.html" && grep -q 'DDP over local' "$folder/report.html"
"$1" compare diff "$folder/report.json" "$folder/report.json"
# An invalid request is refused, and leaves no file.
! $exporter --devices 3 --out "$folder/bad.json" 2>"$folder/said" || exit 1
grep -q 'multiple of the ranks' "$folder/said"
[ ! -e "$folder/bad.json" ]
