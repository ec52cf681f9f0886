#!/usr/bin/env bash
# Makes the table of `./run ops`, which says how each op is checked. The sources determine which ops must be in it: every
# function and method that returns tensors, and every operation that autograd records. The reports of ops_test say which
# checks were made. A check that is missing without a reason from the report or from holes.txt is an error.
# usage: table.sh REPORTS [BENCHMARKS]     REPORTS: folder of reports; BENCHMARKS: file that lists the benchmarks
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
reports=$1 benchmarks=${2:-}

{
  # Lists the public functions in the headers of ops/ (except factories and aliases), the methods of tensor.h from the
  # section "views" on, and the ops of the X-macro lists. (`name` is a macro parameter.)
  headers=$(sed -nE 's|^#include "tandem/(ops/[a-z]+/[a-z_0-9]+.h)"|\1|p' "$root"/ops/{ops,out_variants,linalg/linalg}.h |
    grep -vE '^ops/(factory|random)/|/(linalg|linalg_namespace|bessel|polynomials|rnn_cell)\.h$' | sort -u)
  (cd "$root" && awk 'FNR == 1 { hidden = 0 } /^namespace.* detail \{|^namespace .*::detail \{/ { hidden = 1 } /^}  \/\/ namespace/ { hidden = 0 }
    !hidden' autograd/ops.h $headers) |
    sed -nE 's/^(inline )?(Tensor&?|std::vector<Tensor>|std::tuple<Tensor, Tensor>) ([A-Za-z0-9_]+)\(.*/\3/p'
  sed -n '/---- views/,/ private:/p' "$root/core/tensor.h" |
    sed -nE 's/^  (Tensor&?|std::vector<Tensor>|std::tuple<Tensor, Tensor>) ([A-Za-z0-9_]+)\(.*/\2/p'
  # in-place variants: tests/autograd/forms_test.cpp
  grep -oE '^  X\([a-z0-9_]+' "$root"/core/{elementwise,reduce}_ops.h | sed 's/.*(//'
  # Names under which operations are recorded by autograd.
  tr '\n' ' ' < <(cat "$root"/{autograd,ops,ops/*}/*.cpp) | grep -oE '(record_op|record_view|record_list_op|inplace)\( *"[a-z0-9_]+"' |
    sed -E 's/.*"(.*)"/\1/'
} | grep -vx name | sort -u >"${TMPDIR:-/tmp}/tandem_ops.$$"
trap 'rm -f "${TMPDIR:-/tmp}/tandem_ops.$$"' EXIT

# Checks that passed on a real GPU: "# DATE ...", then lines of a report ("op-case cuda").
gpu=() gpu_date=
if [ -e "$root/benchmarks/results/gpu_ops.txt" ]; then
  gpu=("$root/benchmarks/results/gpu_ops.txt")
  gpu_date=$(sed -nE '1s/^# ([0-9-]+).*/\1/p' "${gpu[0]}")
fi
compgen -G "$reports/*" >/dev/null || { echo "no reports in $reports; run the tests named 'ops:' first" >&2; exit 2; }
awk -v with_benchmarks="${benchmarks:+1}" -v gpu_date="$gpu_date" '
  BEGIN {
    split("float64 float32 float16 bfloat16 integers gradcheck gradgradcheck fixture strided empty threads cuda_kernel emulated cuda benchmark", column, " ")
    split("f64 f32 f16 bf16 int gradcheck gradgradcheck fixture strided empty threads CUDA emulated GPU benchmark", title, " ")
    columns = with_benchmarks ? 15 : 14
    title[14] = gpu_date == "" ? "GPU" : "GPU:" gpu_date
  }
  function op_of(name) { sub("/.*", "", name); return name }
  # Reason for an empty cell of an op that no report mentions. (A missing CUDA kernel would be a link error.)
  function default_reason(col) {
    if (col == "cuda_kernel") return with_cuda ? "made of other ops, no kernel of its own" : "a build without CUDA"
    if (col == "emulated" && !any[col]) return "a build without the emulated device"
    if (col == "cuda" && !any[col]) return "no results of a GPU yet (benchmarks/gpu_session.sh tests makes them)"
    return ""
  }
  function set_reason(op, col, why) { reason[op, col] = why }
  FILENAME ~ /tandem_ops/ { ops[$1]; next }
  FILENAME ~ /holes.txt$/ {
    if (/^#/ || NF == 0) next
    why = $0; sub(/^[^ ]+ +[^ ]+ +/, "", why)
    n = split($1, some, ","); m = split($2, cols, ",")
    for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) { stated[some[i], cols[j]] = why; named[some[i]] }
    next
  }
  /^#/ { next }
  FILENAME == benchmark_file {
    done[op_of($1), "benchmark"]
    if ($1 ~ /\/backward$/) done[op_of($1) "_backward", "benchmark"]  # benchmark of a backward op
    next
  }
  {
    if ($2 == "cuda_kernel") { with_cuda = 1; done[$1, $2]; next }
    op = op_of($1); ops[op]; seen[op]; any[$2] = 1
    if (NF == 2) done[op, $2]
    else { why = $0; sub(/^[^ ]+ +[^ ]+ +/, "", why); if (why !~ /^large:/) set_reason(op, $2, why) }
  }
  END {
    count = 0
    for (op in ops) sorted[++count] = op
    for (i = 2; i <= count; i++) {  # sorts by name; awk has no sort function
      key = sorted[i]
      for (j = i - 1; j >= 1 && sorted[j] > key; j--) sorted[j + 1] = sorted[j]
      sorted[j + 1] = key
    }
    for (op in named) if (op != "*" && !(op in ops)) { printf "holes.txt names %s, which is no op\n", op; bad++ }
    line = sprintf("%-34s", "op")
    for (c = 1; c <= columns; c++) line = line sprintf(" %-*s", length(title[c]), title[c])
    print line
    for (i = 1; i <= count; i++) {
      op = sorted[i]
      if ((op, "*") in stated) { other[stated[op, "*"]] = other[stated[op, "*"]] " " op; continue }
      line = sprintf("%-34s", op)
      for (c = 1; c <= columns; c++) {
        col = column[c]
        if ((op, col) in done) cell = "yes"
        else {
          why = (op, col) in stated ? stated[op, col] : ("*", col) in stated ? stated["*", col] : reason[op, col]
          if (why == "") why = default_reason(col)
          cell = why == "" ? "HOLE" : "-"
          if (why == "") { holes = holes sprintf("%s: %s is neither checked nor is there a reason\n", op, col); bad++ }
          else { key = title[c] ": " why; if (!(key in left)) keys[++nkeys] = key; left[key] = left[key] " " op }
        }
        line = line sprintf(" %-*s", length(title[c]), cell)
      }
      print line
    }
    print "\n- stands for:"
    for (k = 1; k <= nkeys; k++) print "  " keys[k] ":" left[keys[k]]
    for (why in other) print "  no row: " why ":" other[why]
    if (!with_benchmarks) print "\nSKIPPED benchmark: there is no list of them"
    if (bad) { printf "\n%d holes:\n%s", bad, holes; exit 1 }
    printf "\n%d ops, no hole without a reason\n", count
  }
' benchmark_file="$benchmarks" "${TMPDIR:-/tmp}/tandem_ops.$$" "$here/holes.txt" ${benchmarks:+"$benchmarks"} "${gpu[@]}" "$reports"/*
