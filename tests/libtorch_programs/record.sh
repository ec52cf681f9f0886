#!/usr/bin/env bash
# record.sh PYTHON PROGRAM...: compiles programs (layers, tensors/indexing, ...) with the LibTorch of this Python, and
# writes their output to the folder `expected` beside each program. The output is committed, so the tests do not need
# LibTorch.
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")"
torch=$("$python" -c 'import torch, os; print(os.path.dirname(torch.__file__))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=()  # the CUDA library of LibTorch contains data_parallel
[ ! -e "$torch/lib/libtorch_cuda.so" ] || cuda=(-ltorch_cuda -Wl,--allow-shlib-undefined)
flags=(-std=gnu++20 -O0 -w -I"$torch/include" -I"$torch/include/torch/csrc/api/include")
c++ "${flags[@]}" -x c++-header programs.h -o "$work/programs.h.gch"
for program in "$@"; do
  c++ "${flags[@]}" -include "$work/programs.h" "$program.cpp" -o "$work/program" \
    -L"$torch/lib" -Wl,-rpath,"$torch/lib" -ltorch -ltorch_cpu -lc10 "${cuda[@]}"
  mkdir -p "$(dirname "$program")/expected"
  "$work/program" >"$(dirname "$program")/expected/$(basename "$program").txt"
done
