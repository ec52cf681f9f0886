#!/usr/bin/env bash
# headers.sh COMPILER SOURCES: tests that each public header compiles alone, without any include before it. Headers that
# include core/tensor.h, as most do, get it precompiled, which takes a sixth of the time.
set -euo pipefail
compiler=$1 sources=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$sources" "$work/tandem"
mapfile -t headers < <(cmake -D SOURCE="$sources" -P "$sources/cmake/install_headers.cmake" 2>&1)

# Finds the headers that include core/tensor.h, directly or indirectly.
cd "$sources"
includers=$(grep -oE '^#include ["<]tandem/[^">]+' "${headers[@]}" | sed -E 's/:#include ["<]tandem\// /')
tensor=" core/tensor.h "
for ((before = 0; before != ${#tensor};)); do
  before=${#tensor}
  while read -r header included; do
    [[ $tensor != *" $included "* || $tensor == *" $header "* ]] || tensor+="$header "
  done <<<"$includers"
done

echo '#include "tandem/core/tensor.h"' >"$work/tensor.h"
"$compiler" -std=c++20 -I"$work" -x c++-header "$work/tensor.h" -o "$work/tensor.h.gch"
compile() {  # COMPILER WORK TENSOR HEADER
  local before=()
  [[ $3 != *" $4 "* || $4 = core/tensor.h ]] || before=(-include "$2/tensor.h")
  "$1" -std=c++20 -fsyntax-only -w -I"$2" "${before[@]}" -x c++ - <<<"#include \"tandem/$4\"" || {
    echo "$4 does not compile alone"
    return 1
  }
}
export -f compile
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -euc 'compile "$@"' compile "$compiler" "$work" "$tensor" {}
echo "${#headers[@]} headers"
