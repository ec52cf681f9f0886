#!/usr/bin/env bash
# The table notices what is gone: a copy of the reports passes, and fails as soon as a case or one of its checks is cut
# out, or a benchmark.
# usage: table_test.sh REPORTS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# without PATTERN TEXT: the table fails on reports without the lines that match, and says TEXT.
without() {
  rm -rf "$copy/reports" && mkdir "$copy/reports"
  for report in "$1"/*; do sed -E "/$2/d" "$report" >"$copy/reports/$(basename "$report")"; done
  if "$here/table.sh" "$copy/reports" >"$copy/table"; then
    echo "the table has no hole without /$2/" >&2
    exit 1
  fi
  grep -qF "$3" "$copy/table" || {
    echo "without /$2/ the table does not say '$3':" >&2
    tail -5 "$copy/table" >&2
    exit 1
  }
}
bash "$here/table.sh" "$1" >/dev/null
without "$1" '^tanh[ /]' 'tanh: float64 is neither checked nor is there a reason'
without "$1" '^conv2d_backward_weight[ /]' 'conv2d_backward_weight: gradcheck is neither'
without "$1" '^softmax(\/[a-z]+)? gradgradcheck' 'softmax: gradgradcheck is neither'
without "$1" '^add_ ' 'add_: float64 is neither'
