#!/usr/bin/env bash
# Compares hello.cpp under Tandem and under LibTorch: compile time, run time, memory and size. Prints a table with the medians
# of interleaved rounds. Times are CPU times, so that other programs on the machine have little influence.
# usage: hello.sh [BUILD] [JSON]   BUILD: a build folder with `benchmark_hello` (default: build/release)
# LibTorch is taken from TANDEM_PEERS_PYTHON, or from the Python that peers/setup.sh made; without either, its column is empty.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in -h | --help)
  sed -n '2,5s/^# //p' "$0"
  exit ;;
esac
build=${1:-$here/../build/release} json=${2:-}
compile_rounds=3 start_rounds=21
cxx=${CXX:-g++}
[ -x "$build/benchmarks/benchmark_hello" ] || {
  echo "hello.sh: $build has no benchmarks/benchmark_hello; ./run build builds it in build/release" >&2
  exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${TANDEM_PEERS_PYTHON:-$here/../.peers/python}
torch='' version=none
if "$python" -c 'import torch' 2>/dev/null; then
  torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  version=$("$python" -c 'import torch; print(torch.__version__)')
fi
compile() {  # PEER: compiles hello.cpp to an object file, as a user's build does
  case $1 in
    tandem) "$cxx" -std=c++20 -O2 -DNDEBUG -I "$build/include" -c "$here/hello.cpp" -o "$work/tandem.o" ;;
    libtorch) "$cxx" -std=c++20 -O2 -DNDEBUG -DHELLO_LIBTORCH -I "$torch/include" -I "$torch/include/torch/csrc/api/include" \
      -c "$here/hello.cpp" -o "$work/libtorch.o" ;;
  esac
}
seconds_of() {
  local TIMEFORMAT='%3U %3S'
  { time "$@" >"$work/printed"; } 2>&1 | awk '{ print $1 + $2 }'
}
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
loaded_by() { ldd "$1" | awk '$3 ~ /^\// { print $3 }'; }
mib_of() { xargs -d '\n' du -Lcb | awk 'END { print $1 / 1048576 }'; }
# library_mib: size of the program and of Tandem's or LibTorch's libraries. shipped_mib: size of the program and of all
# libraries that it loads, except for the C and C++ libraries, which all programs need.
library_mib() { { echo "$1"; loaded_by "$1" | grep -E '/lib(tandem|torch[a-z_]*|c10)\.so' || true; } | mib_of; }
shipped_mib() { { echo "$1"; loaded_by "$1" | grep -vE '/lib(c|m|stdc\+\+|gcc_s|dl|rt|pthread)\.so'; } | mib_of; }

peers=(tandem) programs=("$build/benchmarks/benchmark_hello")
[ -z "$torch" ] || {
  peers+=(libtorch) programs+=("$work/libtorch")
  EXTRA_LIBS=-DHELLO_LIBTORCH "$here/peers/build_libtorch.sh" "$python" "$here/hello.cpp" "$work/libtorch"
}
for ((round = 0; round < compile_rounds; ++round)); do
  for peer in "${peers[@]}"; do seconds_of compile "$peer" >>"$work/$peer.compile"; done
done
for ((round = 0; round < start_rounds; ++round)); do
  for i in "${!peers[@]}"; do
    seconds_of "${programs[$i]}" >>"$work/${peers[$i]}.start"
    awk '{ print $2 / 1024 }' "$work/printed" >>"$work/${peers[$i]}.resident"
  done
done
declare -A of
for i in "${!peers[@]}"; do
  peer=${peers[$i]}
  of[$peer.compile]=$(median "$work/$peer.compile") of[$peer.start]=$(median "$work/$peer.start")
  of[$peer.resident]=$(median "$work/$peer.resident")
  of[$peer.library]=$(library_mib "${programs[$i]}") of[$peer.shipped]=$(shipped_mib "${programs[$i]}")
done
row() {  # WHAT KEY FACTOR UNIT DIGITS
  local line="| $1 |" peer
  for peer in tandem libtorch; do
    if [ -n "${of[$peer.$2]:-}" ]; then line+=$(awk -v x="${of[$peer.$2]}" -v f="$3" -v d="$5" -v u="$4" 'BEGIN { printf " %.*f %s |", d, x * f, u }')
    else line+=" |"; fi
  done
  echo "$line"
}
echo "| hello.cpp | Tandem | LibTorch ($version) |"
echo "|---|---|---|"
row "compile (-O2), CPU time" compile 1 s 1
row "start, one gradient, end: CPU time" start 1000 ms 0
row "resident memory" resident 1 MiB 0
row "size of the program with Tandem or LibTorch" library 1 MiB 0
row "size with all libraries that it loads" shipped 1 MiB 0
[ -z "$json" ] || {
  cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
  {
    printf '{\n  "command": "benchmarks/hello.sh", "cpu": "%s", "cores": %s, "compiler": "%s", "libtorch": "%s", "commit": "%s"' \
      "$cpu" "$(nproc)" "$cxx $("$cxx" -dumpfullversion)" "$version" "$(git -C "$here" rev-parse --short HEAD 2>/dev/null || true)"
    for peer in "${peers[@]}"; do
      printf ',\n  "%s": {"compile_s": %s, "start_s": %s, "resident_mib": %s, "library_mib": %s, "shipped_mib": %s}' \
        "$peer" "${of[$peer.compile]}" "${of[$peer.start]}" "${of[$peer.resident]}" "${of[$peer.library]}" "${of[$peer.shipped]}"
    done
    printf '\n}\n'
  } >"$json"
}
