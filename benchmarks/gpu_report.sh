#!/usr/bin/env bash
# gpu_report.sh [PART...]: builds Tandem for this machine's GPU, tests it there, runs the sanitizer's tools on the tests,
# and measures it. Without a part: all of them, each once; what a part has finished is noted under $TANDEM_REPORT, so
# that the next call goes on where this one was stopped. A part takes at most nine minutes; `tests` and `memcheck` note
# each program, and `bench` each table, so that a part that was stopped goes on within itself.
#
# It needs a C++ compiler, CMake, Ninja and CUDA's toolkit, and as headers zlib, CLI11, nlohmann-json and Catch2 (one
# file will do): where they are not installed, name their folders in CMAKE_PREFIX_PATH. Of PyTorch it needs a Python
# that has it (TANDEM_PEERS_PYTHON, or python3). Environment:
#   TANDEM_REPORT         folder for logs and notes (build/gpu_report)
#   TANDEM_CMAKE_OPTIONS  more options for CMake
#   TANDEM_PART_SECONDS   how long a part may take (520)
# Results are benchmarks/results/gpu_*.json with GPU, driver, commit and command. Exit status: 0 all is well; 1 a part
# failed; 3 no GPU: what can be built without one was built.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
report=${TANDEM_REPORT:-build/gpu_report}
build=build/gpu
limit=${TANDEM_PART_SECONDS:-520}
parts=(build tests memcheck racecheck initcheck synccheck bench bandwidth nccl)
mkdir -p "$report/done" benchmarks/results
started=$SECONDS

say() { echo "gpu_report: $*"; }
left() { echo $((limit - (SECONDS - started))); }
# once NAME COMMAND...: runs it unless it succeeded before, with its output in a log, within the part's time.
once() {
  local name=$1
  shift
  [ ! -e "$report/done/$name" ] || return 0
  [ "$(left)" -gt 10 ] || {
    say "time is up before $name; call again to go on"
    return 124
  }
  timeout "$(left)" "$@" >"$report/$name.log" 2>&1
  local status=$?
  if [ $status = 0 ]; then
    echo "$*" >"$report/done/$name"
    say "$name: ok"
  elif [ $status = 124 ]; then say "$name: stopped after its time; call again to go on"
  else
    say "$name: FAILED with $status; the end of $report/$name.log:"
    tail -n 15 "$report/$name.log"
  fi
  return $status
}
has_gpu() { nvidia-smi -L 2>/dev/null | grep -q GPU; }
need_gpu() {
  has_gpu && return
  say "no GPU: $1 needs one; stopped here"
  exit 3
}
# Facts of the machine as the inside of a JSON object.
facts() {
  local gpu
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -n 1)
  printf '"date": "%s", "commit": "%s", "gpu": "%s", "nvcc": "%s"' "$(date -u +%FT%TZ)" \
    "$(git rev-parse HEAD 2>/dev/null || cat benchmarks/commit 2>/dev/null || echo unknown)" "$gpu" \
    "$("$(nvcc_path)" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
}
nvcc_path() {
  sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' $build/CMakeCache.txt
}

# Libraries for the CPU are left out where they are missing: what is reported is the GPU.
part_build() {
  local options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_WITH_CUDA=ON -DTANDEM_BUILD_EXAMPLES=OFF)
  has_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
  # shellcheck disable=SC2206
  options+=(${TANDEM_CMAKE_OPTIONS:-})
  once configure cmake -S . -B $build "${options[@]}" || return
  grep -E '^--   ' "$report/configure.log"
  once build cmake --build $build -j "$(nproc)"
}

# run_tests PREFIX PROGRAMS COMMAND...: the tests' programs of these names (a pattern of grep's), and every row of the op
# tests on cuda, below a tool.
run_tests() {
  local prefix=$1 names=$2 program family failed=0
  shift 2
  for program in $(cd $build/tests && find . -maxdepth 1 -name '*_test' -type f -perm -u+x -printf '%f\n' |
    grep -xE "$names" | sort); do
    once "$prefix-$program" "$@" "$build/tests/$program" || failed=$?
    [ $failed != 124 ] || return 124
  done
  for family in elementwise activation view reduce matmul norm loss index backward; do
    once "$prefix-ops-$family" env TANDEM_TEST_DEVICE=cuda TANDEM_OP_FAMILY=$family "$@" \
      $build/tests/op_cases/ops_test '[values]' || failed=$?
    [ $failed != 124 ] || return 124
  done
  return $failed
}
part_tests() {
  need_gpu tests
  run_tests tests 'cuda_.*|core_test|nn_test|optim_test|training_test|data_parallel_test|distributed_test'
}
sanitizer() {
  local tool=$1 program
  program=$(command -v compute-sanitizer || echo "$(dirname "$(nvcc_path)")/compute-sanitizer")
  [ -x "$program" ] || {
    say "$tool: SKIPPED, compute-sanitizer is not on PATH"
    return 1
  }
  echo "$program"
}
part_memcheck() {
  need_gpu memcheck
  local program
  program=$(sanitizer memcheck) || return
  run_tests memcheck 'cuda_.*|core_test' "$program" --tool memcheck --error-exitcode 9 --print-limit 5
}
# The other tools slow a program down several hundred times: they see the kernels that share memory between threads.
chosen_part() {
  local tool=$1 program family failed=0
  need_gpu "$tool"
  program=$(sanitizer "$tool") || return
  for family in reduce norm matmul; do
    once "$tool-$family" env TANDEM_TEST_DEVICE=cuda TANDEM_OP_FAMILY=$family "$program" --tool "$tool" \
      --error-exitcode 9 --print-limit 5 $build/tests/op_cases/ops_test '[values]' || failed=$?
    [ $failed != 124 ] || return 124
  done
  return $failed
}
part_racecheck() { chosen_part racecheck; }
part_initcheck() { chosen_part initcheck; }
part_synccheck() { chosen_part synccheck; }

# Tables beside PyTorch: eager for all, compiled and in CUDA graphs for the steps and what such tools are made for.
python_with_torch() {
  local python
  for python in "${TANDEM_PEERS_PYTHON:-}" python3; do
    [ -n "$python" ] && "$python" -c 'import torch; torch.zeros(1, device="cuda")' 2>/dev/null && {
      command -v "$python"
      return
    }
  done
}
bench_table() {  # bench_table NAME ARGS...
  local name=$1
  shift
  once "bench-$name" $build/tools/tandem bench --device cuda --json "benchmarks/results/gpu_$name.json" "$@" || return
  cat "$report/bench-$name.log"
}
part_bench() {
  need_gpu bench
  local eager=() all=() python
  python=$(python_with_torch)
  if [ -n "$python" ]; then
    export TANDEM_PEERS_PYTHON=$python
    eager=(--peers pytorch)
    all=(--peers "pytorch,pytorch-compiled,pytorch-graphs")
  else say "bench: no Python here has PyTorch for this GPU: Tandem alone"; fi
  bench_table steps --filter train_step "${all[@]}" || return
  bench_table steps_tf32 --filter train_step --precision high "${all[@]}" || return
  bench_table fused --filter softmax,layer_norm,gelu,cross_entropy,adam "${all[@]}" --repeats 5 --seconds 0.02 || return
  bench_table ops "${eager[@]}" --repeats 5 --seconds 0.02
}
# At 512 MiB and more memory bounds all of these: GB/s beside that of a copy, measured in the same run.
part_bandwidth() {
  need_gpu bandwidth
  local n=134217728  # float32: 512 MiB
  bench_table bandwidth --repeats 7 --case "clone/forward $n" --case "exp/forward $n" --case "add/forward $n,$n" \
    --case "relu/backward $n" --case "sum/forward $n" --case "sum/rows 131072x1024" --case "sum/columns 131072x1024" \
    --case "softmax/forward 131072x1024" --case "log_softmax/forward 131072x1024" \
    --case "layer_norm/forward 131072x1024,1024,1024" --case "adam/step $n" || return
  awk '/^clone\/forward/ { copy = $(NF - 1) }
       / GB\/s/ { printf "%-44s %8.0f GB/s  %5.1f %% of the copy\n", $1 " " $2, $(NF - 1), 100 * $(NF - 1) / copy }' \
    "$report/bench-bandwidth.log" | tee "$report/bandwidth.txt"
}
# Two ranks on one GPU, which NCCL refuses unless they seem to be two machines: for correctness alone, never for speed.
part_nccl() {
  need_gpu nccl
  grep -q '^TANDEM_NCCL_LIBRARY:.*\.so' $build/CMakeCache.txt || {
    say "nccl: SKIPPED, this build is without NCCL"
    return 0
  }
  # The program sets NCCL_HOSTID for each rank and turns off what only ranks of one machine can use.
  once nccl env NCCL_SOCKET_IFNAME=lo $build/tools/tandem launch -n 2 --timeout 300 -- $build/tests/nccl_program || return
  printf '{%s, "command": "%s", "ranks": 2, "gpus": 1, "result": "%s"}\n' "$(facts)" "$(tail -n 1 "$report/done/nccl")" \
    "$(tail -n 1 "$report/nccl.log" | tr -d '"\\')" >benchmarks/results/gpu_nccl.json
}

# What the tests and tools said, for the repository.
summary() {
  has_gpu || return 0
  local passed failed
  passed=$(find "$report/done" -type f -printf '"%f",\n' | sort | tr -d '\n')
  failed=$(for log in "$report"/*.log; do
    name=$(basename "$log" .log)
    [ -e "$report/done/$name" ] || printf '"%s",' "$name"
  done)
  printf '{%s, "command": "benchmarks/gpu_report.sh", "passed": [%s], "failed_or_stopped": [%s]}\n' "$(facts)" \
    "${passed%,}" "${failed%,}" >benchmarks/results/gpu_tests.json
}

wanted=("$@")
[ $# -gt 0 ] || wanted=("${parts[@]}")
worst=0
for part in "${wanted[@]}"; do
  [[ " ${parts[*]} " == *" $part "* ]] || {
    say "'$part' is not a part; accepted: ${parts[*]}"
    exit 2
  }
  [ $# -gt 0 ] || [ ! -e "$report/done/part-$part" ] || continue
  started=$SECONDS
  say "part $part"
  "part_$part"
  status=$?
  if [ $status = 0 ]; then touch "$report/done/part-$part"; else worst=1; fi
  [ "$part" != build ] || [ $status = 0 ] || break
done
summary
exit $worst
