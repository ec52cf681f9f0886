#!/usr/bin/env bash
# Tests table.sh: it accepts a copy of the reports, and fails if an op case, one of its checks or a benchmark is removed
# from the copy.
# usage: table_test.sh REPORTS [BENCHMARKS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reports=$1 benchmarks=${2:-}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# without PATTERN TEXT: removes matching lines from the copy, and requires that the table fails and prints TEXT.
without() {
  rm -rf "$copy/reports" && mkdir "$copy/reports"
  for report in "$reports"/*; do sed -E "/$1/d" "$report" >"$copy/reports/$(basename "$report")"; done
  [ -z "$benchmarks" ] || sed -E "/$1/d" "$benchmarks" >"$copy/benchmarks"
  if bash "$here/table.sh" "$copy/reports" ${benchmarks:+"$copy/benchmarks"} >"$copy/table"; then
    echo "the table has no hole without /$1/" >&2
    exit 1
  fi
  grep -qF "$2" "$copy/table" || {
    echo "without /$1/ the table does not say '$2':" >&2
    tail -5 "$copy/table" >&2
    exit 1
  }
}
bash "$here/table.sh" "$reports" ${benchmarks:+"$benchmarks"} >/dev/null
without '^tanh[ /]' 'tanh: float64 is neither checked nor is there a reason'
without '^conv2d_backward_weight[ /]' 'conv2d_backward_weight: gradcheck is neither'
without '^softmax(\/[a-z]+)? gradgradcheck' 'softmax: gradgradcheck is neither'
without '^add_ ' 'add_: float64 is neither'
! grep -qs ' emulated$' "$reports"/* || without '^tanh(\/[a-z]+)? emulated' 'tanh: emulated is neither'
[ -z "$benchmarks" ] || without '^tanh\/forward' 'tanh: benchmark is neither'
