#!/usr/bin/env bash
# gpu_report.sh [PART...]: builds Tandem for this machine's GPU, tests it there, runs the sanitizer's tools on the
# tests, and measures it. Without a part: all of them. A call ends by itself when its time is up, and the next goes on:
# what became of each test and table is noted under $TANDEM_REPORT/notes, and none is repeated before the build has
# changed (or its note is deleted and its part named). The build comes first in every call, and leaves out what does not
# compile.
#
# It needs a C++ compiler, CMake, Ninja and CUDA's toolkit, zlib with its library, and as headers CLI11, nlohmann-json
# and Catch2 (catch2/catch.hpp alone will do): where they are not installed, name the folders above their include/ and
# lib/ in CMAKE_PREFIX_PATH. Of PyTorch it needs a Python that has it (TANDEM_PEERS_PYTHON, or python3). Where the
# sources are no git repository, the file benchmarks/commit says which commit they are. Environment:
#   TANDEM_REPORT         folder for logs and notes (build/gpu_report)
#   TANDEM_CMAKE_OPTIONS  more options for CMake
#   TANDEM_CALL_SECONDS   how long a call may take (520)
#   TANDEM_TEST_SECONDS   how long a test may take, below a sanitizer's tool as well, before it counts as failed (150)
#   TANDEM_DATA           folder of FashionMNIST's files (/usr/share/datasets/fashion-mnist)
#   TANDEM_TEST_JOBS      how many tests run at the same time (half as many as there are cores)
#   TANDEM_BUILT          not empty: build/gpu was built elsewhere, for a checkout at this path; it is taken as it is
# Results are benchmarks/results/gpu_*.json with GPU, driver, commit and command, and gpu_ops.txt for `./run ops`. Exit
# status: 0 all is well; 1 something failed, in this call or before; 3 no GPU: what can be built without one was built;
# 4 time was up: call again.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
report=${TANDEM_REPORT:-build/gpu_report}
build=build/gpu
stamp=$build/gpu_report.stamp  # when what is tested last changed; older notes do not count
call_seconds=${TANDEM_CALL_SECONDS:-520}
test_seconds=${TANDEM_TEST_SECONDS:-150}
test_jobs=${TANDEM_TEST_JOBS:-$((($(nproc) + 1) / 2))}
parts=(build tests memcheck racecheck initcheck synccheck bench bandwidth convolutions epoch nccl)
families=()  # of the op tests: each is a file of theirs
for file in tests/op_cases/*.cpp; do
  file=${file##*/}
  [ "$file" = large.cpp ] || families+=("${file%.cpp}")
done
mkdir -p "$report/notes" "$report/ops" benchmarks/results

say() { echo "gpu_report: $*"; }
left() { echo $((call_seconds - SECONDS)); }
fresh() { [ "$report/notes/$1" -nt "$stamp" ]; }
has() { fresh "$1" && grep -q "^$2" "$report/notes/$1"; }  # has NAME passed|failed|skipped
note() {
  echo "$2" >"$report/notes/$1"
  say "$1: $2"
}
# logged SECONDS NAME COMMAND...: with its output in a log, of which the end is shown where it fails.
logged() {
  local seconds=$1 name=$2 status
  shift 2
  timeout -k 10 "$seconds" "$@" >"$report/$name.log" 2>&1
  status=$?
  [ $status = 0 ] || { say "the end of $report/$name.log:" && tail -n 15 "$report/$name.log"; }
  return $status
}
# once SECONDS NAME COMMAND...: runs it unless it is noted, for so long at most, and notes what became of it. Fails only
# when the call's time is up.
once() {
  local most=$1 name=$2 seconds status
  shift 2
  ! fresh "$name" || return 0
  seconds=$(left)
  [ "$seconds" -gt 10 ] || return 4
  [ "$seconds" -lt "$most" ] || seconds=$most
  logged "$seconds" "$name" "$@"
  status=$?
  case $status in
    0) note "$name" passed ;;
    124 | 137)
      [ "$seconds" = "$most" ] || return 4
      note "$name" "failed: not done within $most seconds" ;;
    *) note "$name" "failed with status $status" ;;
  esac
}
# beside SECONDS NAME COMMAND...: the same, beside up to $test_jobs others; `all_done` waits for them.
beside() {
  while [ "$(jobs -rp | wc -l)" -ge "$test_jobs" ]; do sleep 0.1; done
  once "$@" &
  started+=($!)
}
all_done() {
  local job result=0
  for job in "${started[@]}"; do wait "$job" || result=4; done
  started=()
  return $result
}
started=()
has_gpu() { grep -q GPU <<<"$(timeout 30 nvidia-smi -L 2>/dev/null)"; }
nvcc_path() { sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' $build/CMakeCache.txt; }
commit() { git rev-parse HEAD 2>/dev/null || cat benchmarks/commit 2>/dev/null || echo unknown; }
# Facts of the machine as the inside of a JSON object.
facts() {
  local gpu
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -n 1)
  printf '"date": "%s", "commit": "%s", "gpu": "%s", "nvcc": "%s"' "$(date -u +%FT%TZ)" "$(commit)" "$gpu" \
    "$("$(nvcc_path)" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
}

programs() {
  find $build/tests $build/tools -maxdepth 2 -type f -perm -u+x \
    \( -name '*_test' -o -name nccl_program -o -name tandem \)
}
# Libraries for the CPU are left out where they are missing: what is reported is the GPU.
build() {
  [ -z "${TANDEM_BUILT:-}" ] || {
    note build "passed elsewhere"
    return
  }
  local options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_WITH_CUDA=ON -DTANDEM_BUILD_EXAMPLES=OFF) status program
  has_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
  # shellcheck disable=SC2206
  options+=(${TANDEM_CMAKE_OPTIONS:-})
  logged "$(left)" configure cmake -S . -B $build "${options[@]}" || {
    note build "failed: CMake found something missing"
    exit 1
  }
  grep -E '^--   ' "$report/configure.log"
  logged "$(left)" build cmake --build $build -j "$(nproc)" -- -k 0
  status=$?
  case $status in 124 | 137)
    say "time is up while building; call again to go on"
    exit 4 ;;
  esac
  if [ $status != 0 ]; then
    grep -E '^FAILED| error:' "$report/build.log" | head -n 20
    for program in $(programs); do  # what could not be built anew must not run as it was
      grep -q 'no work to do' <<<"$(cmake --build $build --target "${program#"$build/"}" -- -n)" && continue
      rm "$program"
      touch $stamp
    done
  fi
  for program in $(programs); do [ ! "$program" -nt $stamp ] || touch $stamp; done
  if [ $status = 0 ]; then note build passed; else note build "failed with status $status"; fi
}

# Programs of the tests that use a GPU, with the tag of those that do; and every row of the op tests.
part_tests() {
  local test program tag family
  for test in cuda_core_test cuda_kernels_test cuda_parallel_test 'core_test [gpu]' 'graph_test [cuda]' \
    'nn_test [cuda]' 'optim_test [cuda]' training_test 'data_parallel_test [equality]' 'distributed_test [ddp]'; do
    read -r program tag <<<"$test"
    beside "$test_seconds" "tests-$program" env TANDEM_TEST_DEVICE=cuda "$build/tests/$program" ${tag:+"$tag"}
  done
  for family in "${families[@]}"; do
    fresh "tests-ops-$family" || rm -f "$report/ops/$family"
    beside "$test_seconds" "tests-ops-$family" env TANDEM_TEST_DEVICE=cuda TANDEM_OP_FAMILY="$family" \
      TANDEM_OP_REPORT="$report/ops/$family" $build/tests/op_cases/ops_test '[values]'
  done
  all_done
}

# use_sanitizer TOOL OPTIONS...: makes it what `sanitizer` names. Notes where there is none.
use_sanitizer() {
  local tool=$1 program
  shift
  program=$(command -v compute-sanitizer || echo "$(dirname "$(nvcc_path)")/compute-sanitizer")
  [ -x "$program" ] || {
    note "$tool" "skipped: compute-sanitizer is not on PATH"
    return 1
  }
  sanitizer=("$program" --tool "$tool" --error-exitcode 9 --print-limit 5 "$@")
}
# kernels TOOL TAGS FAMILIES [NAME=VALUE]: the kernels' tests with these tags and the ops of these families under the
# tool. Tags, because a tool slows a program down several hundred times; and kernels by themselves, because in the ops'
# rows cuBLAS and cuDNN take the place of ours.
kernels() {
  local tool=$1 tag family
  for tag in $2; do
    beside "$test_seconds" "$tool-kernels-$tag" env "${@:4}" \
      "${sanitizer[@]}" $build/tests/cuda_kernels_test "[$tag]"
  done
  for family in $3; do
    beside "$test_seconds" "$tool-ops-$family" env "${@:4}" TANDEM_TEST_DEVICE=cuda TANDEM_OP_FAMILY="$family" \
      "${sanitizer[@]}" $build/tests/op_cases/ops_test '[values]'
  done
  all_done
}
kernel_families='activation backward edges elementwise index loss matmul norm reduce view'  # the others are made of these
all_tags='convolution elementwise index matmul norm optim combine pool random reduce sort'
shared_tags='convolution elementwise index matmul norm optim reduce sort'  # kernels whose threads share memory
shared_families='activation matmul norm reduce'
# These two know what cudaMalloc gave: each tensor has to be an allocation of its own.
each_its_own=TANDEM_NO_CUDA_MEMORY_CACHING=1
part_memcheck() {
  use_sanitizer memcheck --report-api-errors no || return 0  # tests ask for calls that fail
  local program
  for program in cuda_core_test cuda_parallel_test; do  # the first tests the cache
    beside "$test_seconds" "memcheck-$program" "${sanitizer[@]}" "$build/tests/$program"
  done
  kernels memcheck "$all_tags" "$kernel_families" $each_its_own
}
part_initcheck() {
  use_sanitizer initcheck || return 0
  kernels initcheck "$all_tags" "$kernel_families" $each_its_own
}
part_racecheck() {
  use_sanitizer racecheck || return 0
  kernels racecheck "$shared_tags" "$shared_families"
}
part_synccheck() {
  use_sanitizer synccheck || return 0
  kernels synccheck "$shared_tags" "$shared_families"
}

# Tables beside PyTorch: eager for all, compiled and in CUDA graphs for the steps and what such tools are made for.
python_with_torch() {
  local python
  for python in "${TANDEM_PEERS_PYTHON:-}" python3; do
    [ -n "$python" ] && timeout 60 "$python" -c 'import torch; torch.zeros(1, device="cuda")' 2>/dev/null && {
      command -v "$python"
      return
    }
  done
}
bench_table() {  # bench_table NAME ARGS...
  local name=$1
  shift
  ! fresh "bench-$name" || return 0
  once $((call_seconds - 60)) "bench-$name" $build/tools/tandem bench --device cuda \
    --json "benchmarks/results/gpu_$name.json" "$@" || return
  ! has "bench-$name" passed || cat "$report/bench-$name.log"
}
part_bench() {
  local eager=() all=() python
  python=$(python_with_torch)
  if [ -n "$python" ]; then
    export TANDEM_PEERS_PYTHON=$python
    eager=(--peers pytorch)
    all=(--peers "pytorch,pytorch-compiled,pytorch-graphs")
  else note peers "skipped: no Python here has PyTorch for this GPU; Tandem alone"; fi
  bench_table steps --filter train_step "${all[@]}" &&
    bench_table steps_tf32 --filter train_step --precision high "${all[@]}" &&
    bench_table fused --filter softmax,layer_norm,gelu,cross_entropy,adam "${all[@]}" --repeats 5 --seconds 0.02 &&
    bench_table ops "${eager[@]}" --repeats 5 --seconds 0.02
}
# At 512 MiB and more memory bounds all of these: GB/s beside that of a copy, measured in the same run.
part_bandwidth() {
  local n=134217728  # float32: 512 MiB
  bench_table bandwidth --repeats 7 --case "clone/forward $n" --case "exp/forward $n" --case "add/forward $n,$n" \
    --case "relu/backward $n" --case "sum/forward $n" --case "sum/rows 131072x1024" --case "sum/columns 131072x1024" \
    --case "softmax/forward 131072x1024" --case "log_softmax/forward 131072x1024" \
    --case "layer_norm/forward 131072x1024,1024,1024" --case "adam/step $n,1,1,1,1,1" || return
  has bench-bandwidth passed || return 0
  awk '/^clone\/forward/ { copy = $(NF - 1) }
       / GB\/s/ { printf "%-44s %8.0f GB/s  %5.1f %% of the copy\n", $1 " " $2, $(NF - 1), 100 * $(NF - 1) / copy }' \
    "$report/bench-bandwidth.log" | tee "$report/bandwidth.txt"
}
# What the rule in kernels/cuda/cudnn.cpp follows.
part_convolutions() {
  [ -x $build/benchmarks/benchmark_convolutions ] || {
    note convolutions "skipped: this build is without cuDNN or the benchmarks"
    return
  }
  once 60 convolutions $build/benchmarks/benchmark_convolutions || return
  ! has convolutions passed || {
    echo "# {$(facts)} benchmark_convolutions: microseconds, by cuDNN's algorithms"
    cat "$report/convolutions.log"
  } >benchmarks/results/gpu_convolutions.txt
}
# FashionMNIST from its files, beside PyTorch.
part_epoch() {
  local python data=${TANDEM_DATA:-/usr/share/datasets/fashion-mnist}
  python=$(python_with_torch)
  [ -n "$python" ] && [ -e "$data/train-images-idx3-ubyte.gz" ] || {
    note epoch "skipped: it needs a Python with PyTorch, and FashionMNIST's files in $data (TANDEM_DATA names another)"
    return
  }
  once 240 epoch "$python" benchmarks/epoch.py $build --device cuda --epochs 5 --data "$data" --threads 8 \
    --json benchmarks/results/gpu_epoch.json || return
  ! has epoch passed || cat "$report/epoch.log"
}
# Two ranks on one GPU, which NCCL refuses unless they seem to be two machines: for correctness alone, never for speed.
part_nccl() {
  grep -q '^TANDEM_NCCL_LIBRARY:.*\.so' $build/CMakeCache.txt || {
    note nccl "skipped: this build is without NCCL"
    return 0
  }
  # The program sets NCCL_HOSTID for each rank and turns off what only ranks of one machine can use.
  local command=(env NCCL_SOCKET_IFNAME=lo "$build/tools/tandem" launch -n 2 --timeout 300
    -- "$build/tests/nccl_program")
  once 330 nccl "${command[@]}" || return
  printf '{%s, "command": "%s", "ranks": 2, "gpus": 1, "outcome": "%s", "last_line": "%s"}\n' "$(facts)" \
    "${command[*]}" "$(<"$report/notes/nccl")" "$(tail -n 1 "$report/nccl.log" | tr -d '"\\')" \
    >benchmarks/results/gpu_nccl.json
}

# noted KIND: this build's notes of the kind, as the inside of a JSON list.
noted() {
  local note
  for note in "$report"/notes/*; do
    ! has "${note##*/}" "$1" || printf '"%s: %s",\n' "${note##*/}" "$(<"$note")"
  done | sed '$s/,$//'
}
# What the tests and tools said, for the repository.
summary() {
  local part unfinished=() family
  for part in "${parts[@]:1}"; do fresh "part-$part" || unfinished+=("\"$part\""); done
  {
    printf '{%s, "command": "benchmarks/gpu_report.sh",\n' "$(facts)"
    printf '"passed": [%s],\n"failed": [%s],\n' "$(noted passed)" "$(noted failed)"
    printf '"skipped": [%s],\n"unfinished": [%s]}\n' "$(noted skipped)" "$(IFS=, && echo "${unfinished[*]}")"
  } >benchmarks/results/gpu_tests.json
  for family in "${families[@]}"; do fresh "tests-ops-$family" || return 0; done
  {
    echo "# $(date -u -r "$report/notes/tests-ops-view" +%F), commit $(commit): rows of ops_test that passed on a GPU"
    cat "$report"/ops/*
  } >benchmarks/results/gpu_ops.txt
}

wanted=("$@")
[ $# -gt 0 ] || wanted=("${parts[@]}")
for part in "${wanted[@]}"; do
  [[ " ${parts[*]} " == *" $part "* ]] || {
    say "'$part' is not a part; accepted: ${parts[*]}"
    exit 2
  }
done
build
for part in "${wanted[@]}"; do
  if [ "$part" = build ] || { [ $# = 0 ] && fresh "part-$part"; }; then continue; fi
  has_gpu || {
    say "no GPU: $part needs one; stopped here"
    exit 3
  }
  say "part $part"
  "part_$part"
  status=$?
  [ $status != 0 ] || echo finished >"$report/notes/part-$part"
  summary
  [ $status = 0 ] || {
    say "time is up in part $part; call again to go on"
    exit 4
  }
done
failed=$(noted failed)
[ -z "$failed" ] || {
  say "what failed so far: $failed"
  exit 1
}
