#!/usr/bin/env bash
# record.sh PYTHON PROGRAM...: what these programs print when they are compiled with the LibTorch that this Python has,
# into expected/. Committed: LibTorch is not needed to run the tests.
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")"
torch=$("$python" -c 'import torch, os; print(os.path.dirname(torch.__file__))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in "$@"; do
  c++ -std=gnu++20 -O0 -I"$torch/include" -I"$torch/include/torch/csrc/api/include" "$program.cpp" -o "$work/$program" \
    -L"$torch/lib" -Wl,-rpath,"$torch/lib" -ltorch -ltorch_cpu -lc10
  "$work/$program" >"expected/$program.txt"
done
