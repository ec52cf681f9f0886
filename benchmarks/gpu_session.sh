#!/usr/bin/env bash
# Runs a session of ten minutes on one GPU, in parts: the tests, compute-sanitizer on changed kernels, and measurements beside
# PyTorch.
#
#   gpu_session.sh                   the parts below in order, each within its limit, all within TANDEM_SESSION_SECONDS (590)
#   gpu_session.sh PART...           these parts, which may be among those listed as "more"
#   gpu_session.sh --plan [PART...]  prints the parts, their limits in seconds and their commands; needs no GPU
#   gpu_session.sh prepare           builds for a machine that has no compiler, and packs what it needs
#   --again: repeats parts that have passed at this commit; --all: memcheck and racecheck of all kernels, not only changed ones
#
# A part that has passed at this commit is not repeated, so if a session was stopped, call it again. A part that exceeds its
# limit is ended and reported, and the next part begins. Each part appends a line to benchmarks/results/gpu_session.jsonl (date,
# commit, GPU, driver, command, outcome) and writes its figures to benchmarks/results/gpu_*.json; commit both. Logs are in
# build/gpu_session/logs. Status: 0 all passed; 1 some failed; 2 wrong usage; 3 no GPU; 4 time is up, call again.
#
# If the GPU's machine can build: ./run setup, then `gpu_session.sh prepare`, then `gpu_session.sh`, in one checkout.
# If it cannot, or if its time is expensive:
#   1. In a checkout on any machine: ./run setup --cuda (the toolkit, no GPU), then `TANDEM_SESSION_GPU=90 gpu_session.sh prepare`
#      (90: the compute capability, Hopper's). It builds a shared library and the tests into build/gpu, and packs them, stripped,
#      into build/gpu_session/programs.tar.gz: 15 to 25 MB.
#   2. Copy the checkout, with build/gpu_session, to the GPU's machine. There, run `OUT=FOLDER benchmarks/gpu_session.sh`. It
#      unpacks the programs. If the checkout has another path than on the first machine, it makes the old path a link to it,
#      because the tests look for their files there. After each part, $OUT/gpu_session.tar.gz has all results and logs so far.
#   3. On the first machine, in the checkout: tar xzf gpu_session.tar.gz; look at the results; commit them.
# The GPU's machine needs bash, nvidia-smi, and for the peers a Python with PyTorch (TANDEM_PEERS_PYTHON, or python3).
# Environment: TANDEM_DATA folder of FashionMNIST's files; TANDEM_TEST_JOBS number of tests that run at a time;
# TANDEM_PART_SECONDS limit of every part, instead of its own; TANDEM_CMAKE_OPTIONS more options for prepare.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=build/gpu session=build/gpu_session results=benchmarks/results record=benchmarks/results/gpu_session.jsonl
session_seconds=${TANDEM_SESSION_SECONDS:-590}
jobs=${TANDEM_TEST_JOBS:-$((($(nproc) + 1) / 2))}
tandem=$build/tools/tandem

# Time limit of each part in seconds. All session_parts together fit into ten minutes.
session_parts='tests:150 memcheck:80 racecheck:60 steps:60 steps_tf32:55 compiled:75 losers:35 host:20 compare:45'
more_parts='initcheck:120 synccheck:120 kernels:240 bandwidth:40 convolutions:60 epoch:240 nccl:300'
names() { printf '%s' "$1" | sed 's/:[0-9]*//g'; }
limit_of() {
  local entry
  for entry in $session_parts $more_parts; do
    [ "${entry%:*}" != "$1" ] || { [ -z "${TANDEM_PART_SECONDS:-}" ] && echo "${entry#*:}" || echo "$TANDEM_PART_SECONDS"; }
  done
}

say() { echo "gpu_session: $*"; }
quoted() { printf '%q ' "$@" | sed 's/ $//'; }
in_git() { git rev-parse --git-dir >/dev/null 2>&1; }
# Prints the commit, followed by + if the sources differ from it. Changed results do not count as a difference.
commit() {
  if in_git; then
    git rev-parse --short=9 HEAD | tr -d '\n'
    [ -z "$(git status --porcelain -- . ":!$results" ":!benchmarks/commit")" ] && echo || echo +
  else cat $session/commit 2>/dev/null || echo unknown; fi
}
has_gpu() { grep -q GPU <<<"$(timeout 30 nvidia-smi -L 2>/dev/null)"; }
gpu_fact() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1; }
in_json() { sed 's/\\/\\\\/g; s/"/\\"/g' <<<"$*" | tr '\n\t' '  ' | sed 's/ $//'; }
# Prints the facts about the machine and the part, as members of a JSON object without its braces.
facts() {
  printf '"date": "%s", "commit": "%s", "gpu": "%s", "driver": "%s", "part": "%s", "command": "%s"' "$(date -u +%FT%TZ)" \
    "$(commit)" "$(in_json "$(gpu_fact name)")" "$(in_json "$(gpu_fact driver_version)")" "$part" "$(in_json "$part_command")"
}
# passed PART: succeeds if the part has passed at this commit and the sources are unchanged.
passed() {
  local now line
  now=$(commit)
  [[ $now != *+ ]] && [ -e $record ] || return 1
  line=$(grep "\"part\": \"$1\"" $record | tail -n 1)
  [[ $line == *"\"commit\": \"$now\""* && $line == *'"outcome": "passed"'* ]]
}

# ---------------------------------------------------------------- what has changed since the last run on a GPU
# tags_of FILE: prints the tags of those tests in cuda_kernels_test that depend on a file of the CUDA backend.
tags_of() {
  case $1 in
    kernels/cuda/attention/* | kernels/cuda/tensor_core*) echo attention ;;
    kernels/cuda/batch_norm* | kernels/cuda/layer_norm* | kernels/cuda/softmax* | kernels/cuda/nll* | kernels/cuda/moments* | kernels/cuda/rows*) echo norm ;;
    kernels/cuda/binary* | kernels/cuda/unary* | kernels/cuda/copy* | kernels/cuda/transpose* | kernels/cuda/divider* | kernels/cuda/packet* | kernels/cuda/native*) echo elementwise ;;
    kernels/cuda/elementwise* | kernels/cuda/element_plan* | kernels/cuda/planner*) echo elementwise combine ;;
    kernels/cuda/combine*) echo combine ;;
    kernels/cuda/convolution* | kernels/cuda/cudnn*) echo convolution ;;
    kernels/cuda/cublas* | kernels/cuda/matmul* | kernels/cuda/tiles*) echo matmul ;;
    kernels/cuda/cumsum* | kernels/cuda/reduce*) echo reduce ;;
    kernels/cuda/fill*) echo random elementwise ;;
    kernels/cuda/index* | kernels/cuda/nonzero*) echo index ;;
    kernels/cuda/optim*) echo optim ;;
    kernels/cuda/pool*) echo pool ;;
    kernels/cuda/sort*) echo sort ;;
    kernels/cuda/launch* | kernels/cuda/fault* | kernels/cuda/handle_pool* | kernels/cuda/transfer* | core/cuda/*) echo launches elementwise ;;
    kernels/functors* | kernels/philox.h) echo elementwise random ;;
    *) echo "$all_tags" ;;
  esac
}
all_tags='attention combine convolution elementwise index launches matmul norm optim pool random reduce sort'
# seen_at PART: prints the commit at which a part last passed on a GPU; the commit in gpu_tests.json if none is recorded.
seen_at() {
  local line=
  [ ! -e $record ] || line=$(grep "\"part\": \"$1\"" $record | grep '"outcome": "passed' | tail -n 1)
  [ -n "$line" ] || line=$(head -n 1 $results/gpu_tests.json 2>/dev/null)
  sed -n 's/.*"commit": "\([0-9a-f]*\).*/\1/p' <<<"$line"
}
# changed_tags PART: prints the tags of the files that have changed since seen_at PART; all tags if that is unknown.
changed_tags() {
  local since file tags=
  if ! in_git; then
    cat "$session/changed_$1" 2>/dev/null || echo "$all_tags"
    return
  fi
  since=$(seen_at "$1")
  if [ -n "$all" ] || [ -z "$since" ] || ! git cat-file -e "$since" 2>/dev/null; then
    echo "$all_tags"
    return
  fi
  while read -r file; do tags+=" $(tags_of "$file")"; done < <(git diff --name-only "$since" -- kernels/cuda core/cuda kernels/functors kernels/functors.h kernels/philox.h)
  tr ' ' '\n' <<<"$tags" | sed '/^$/d' | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# ---------------------------------------------------------------- commands of a part
left() {
  local of_part=$((part_began + part_limit - SECONDS)) of_call=$((session_seconds - SECONDS))
  echo $((of_part < of_call ? of_part : of_call))
}
# once NAME COMMAND...: runs the command in the time that is left for the part. Its output goes to a log; if the command
# fails, the end of the log is printed.
once() {
  local name=$1 seconds status log=$session/logs/$part-$1.log
  shift
  part_command+="${part_command:+; }$(quoted "$@")"
  [ -z "$plan" ] || return 0
  seconds=$(left)
  [ "$seconds" -gt 0 ] || { wrong+=("$name: no time was left for it") && return; }
  timeout -k 5 "$seconds" "$@" >"$log" 2>&1
  status=$?
  case $status in
    0) return 0 ;;
    124 | 137) wrong+=("$name: not done within $seconds s") ;;
    *) wrong+=("$name: status $status") ;;
  esac
  say "the end of $log:" && tail -n 8 "$log"
  return 1
}
# beside NAME COMMAND...: as once, but in the background, with up to $jobs commands at a time; all_done waits for them.
beside() {
  if [ -n "$plan" ]; then once "$@"; return; fi
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.05; done
  part_command+="${part_command:+; }$(quoted "${@:2}")"
  # shellcheck disable=SC2030,SC2031  # the subshell returns its error in a file
  (wrong=() && once "$@"; [ ${#wrong[@]} = 0 ] || echo "${wrong[0]}" >"$session/wrong/$1") &
}
all_done() {
  [ -z "$plan" ] || return 0
  wait
  local file
  # shellcheck disable=SC2031
  for file in "$session"/wrong/*; do [ ! -e "$file" ] || wrong+=("$(<"$file")"); done
  rm -f "$session"/wrong/*
}
skip() { skipped=$1; }

# ---------------------------------------------------------------- the parts
families() {  # prints the families of the op tests, which are their files
  local file
  for file in tests/op_cases/*.cpp; do
    file=${file##*/}
    [ "$file" = large.cpp ] || echo "${file%.cpp}"
  done
}
# Runs the test programs that use a GPU, each with the tag of its GPU test cases; and every row of the op tests.
part_tests() {
  local test program tag family
  mkdir -p $session/ops && rm -f $session/ops/*
  for test in cuda_core_test cuda_kernels_test cuda_parallel_test 'core_test [gpu]' 'graph_test [cuda]' 'nn_test [cuda]' \
    'optim_test [cuda]' training_test 'data_parallel_test [equality]' 'distributed_test [ddp]'; do
    read -r program tag <<<"$test"
    beside "$program" env TANDEM_TEST_DEVICE=cuda "$build/tests/$program" ${tag:+"$tag"}
  done
  for family in $(families); do
    beside "ops-$family" env TANDEM_TEST_DEVICE=cuda TANDEM_OP_FAMILY="$family" TANDEM_OP_REPORT="$session/ops/$family" \
      $build/tests/op_cases/ops_test '[values]'
  done
  all_done
  [ -z "$plan" ] && [ ${#wrong[@]} = 0 ] || return 0
  {  # the GPU column of `./run ops`
    echo "# $(date -u +%F), commit $(commit), $(gpu_fact name): rows of ops_test that passed on a GPU"
    cat $session/ops/*
  } >$results/gpu_ops.txt
}
# sanitizer TOOL TAGS [NAME=VALUE]: runs the kernels' tests with these tags under the tool.
sanitizer() {
  local tool=$1 tags=$2 program tag options=()
  program=$(command -v compute-sanitizer || sed -n 's#^CMAKE_CUDA_COMPILER:[A-Z]*=\(.*\)/nvcc#\1/compute-sanitizer#p' $build/CMakeCache.txt 2>/dev/null)
  [ -n "$plan" ] || [ -x "$program" ] || { skip "compute-sanitizer is not on PATH" && return; }
  [ -n "$tags" ] || { skip "no kernel has changed since $(seen_at "$part")" && return; }
  [ "$tool" != memcheck ] || options=(--report-api-errors no)  # some tests make calls fail on purpose
  for tag in $tags; do
    beside "$tag" env "${@:3}" "${program:-compute-sanitizer}" --tool "$tool" --error-exitcode 9 --print-limit 5 "${options[@]}" \
      $build/tests/cuda_kernels_test "[$tag]"
  done
  all_done
}
each_its_own=TANDEM_NO_CUDA_MEMORY_CACHING=1  # these tools check accesses against the blocks that cudaMalloc returned
part_memcheck() { sanitizer memcheck "$(changed_tags memcheck)" $each_its_own; }
part_racecheck() { sanitizer racecheck "$(changed_tags racecheck)"; }
part_initcheck() { sanitizer initcheck "$all_tags" $each_its_own; }
part_synccheck() { sanitizer synccheck "$all_tags"; }

# bench NAME ARGS...: runs `tandem bench`, with the peers named in PEERS if there is a Python with PyTorch for this GPU.
bench() {
  local name=$1 peers=() python
  shift
  python=${TANDEM_PEERS_PYTHON:-python3}
  if [ -n "$plan" ] || timeout 60 "$python" -c 'import torch; torch.zeros(1, device="cuda")' >/dev/null 2>&1; then peers=(--peers "$PEERS")
  else say "$part: no Python here has PyTorch for this GPU; only Tandem is timed"; fi
  once "$name" env "TANDEM_PEERS_PYTHON=$(command -v "$python")" "TANDEM_COMPILE_SECONDS=25" $tandem bench --device cuda "$@" "${peers[@]}" \
    --json "$results/gpu_$name.json"
  [ -n "$plan" ] || sed -n '/^benchmark/,$p' "$session/logs/$part-$name.log"
}
# Eager and captured training steps, beside PyTorch's CUDA graphs with fused optimizers and cudnn.benchmark.
part_steps() { PEERS=pytorch-graphs-tuned bench steps --filter train_step,inference --repeats 3 --seconds 0.03; }
part_steps_tf32() { PEERS=pytorch-graphs-tuned bench steps_tf32 --filter train_step,inference --precision high --repeats 3 --seconds 0.03; }
part_compiled() {
  PEERS=pytorch-compiled-tuned bench compiled --case 'fashion_cnn/captured_train_step 128x1x28x28' \
    --case 'mlp/captured_train_step 128x784' --case 'gpt/captured_train_step 8x128' --repeats 3 --seconds 0.03
}
# The rows that were slower than PyTorch in gpu_kernels.txt, the last measurement of all operations.
part_losers() {
  local cases=() row
  while read -r row; do cases+=(--case "$row"); done < <(awk '$1 ~ /\// && $NF ~ /^[0-9.]+$/ && $NF < 0.95 { print $1, $2 }' $results/gpu_kernels.txt)
  PEERS=pytorch bench losers "${cases[@]}" --repeats 3 --seconds 0.02
}
# All operations. The part `losers` reads the table that this part writes.
part_kernels() {
  PEERS=pytorch bench kernels --filter /forward,/backward,/rows,/columns,/overhead,/step,/channels,/broadcast,/evaluation,/bfloat16,causal --repeats 3 --seconds 0.01
  [ -n "$plan" ] || [ ${#wrong[@]} -gt 0 ] || { echo "# {$(facts)}" && sed -n '/^benchmark/,$p' $session/logs/kernels-kernels.log; } >$results/gpu_kernels.txt
}
# Operations on 512 MiB, all bounded by memory bandwidth. Compare their GB/s with that of clone, a copy, in the same run.
part_bandwidth() {
  local n=134217728
  PEERS=pytorch bench bandwidth --repeats 5 --case "clone/forward $n" --case "exp/forward $n" --case "add/forward $n,$n" \
    --case "sum/forward $n" --case "softmax/forward 131072x1024" --case "layer_norm/forward 131072x1024,1024,1024" \
    --case "adam/step $n,1,1,1,1,1"
}
# keep NAME FILE: writes a JSON table, together with the facts about this machine, to the committed results.
keep() { [ -z "$plan" ] && [ -s "$2" ] && printf '{%s, "table": %s}\n' "$(facts)" "$(<"$2")" >"$results/gpu_$1.json"; }
# Shows where the host spends its time in an eager step. The trace itself is among the logs.
part_host() {
  once trace $tandem trace --out $session/logs/host_trace.json --json $session/host.json -- $tandem bench --device cuda \
    --case 'fashion_cnn/train_step 64x1x28x28' --repeats 1 --seconds 0.05
  keep host $session/host.json
}
# Two ranks share the GPU, which the report states. Use it to check each rank's work and results, not speed.
part_compare() {
  once compare $tandem compare --quick --device cuda --devices 2 --backend gloo --mode ddp_gloo --out $session/logs/compare
  keep compare $session/logs/compare/report.json
}
# Times of cuDNN's algorithms, on which the rule in kernels/cuda/cudnn.cpp is based.
part_convolutions() {
  [ -n "$plan" ] || [ -x $build/benchmarks/benchmark_convolutions ] || { skip "this build is without cuDNN or the benchmarks" && return; }
  once times $build/benchmarks/benchmark_convolutions || return 0
  [ -n "$plan" ] || { echo "# {$(facts)}: microseconds, by cuDNN's algorithms" && cat $session/logs/convolutions-times.log; } >$results/gpu_convolutions.txt
}
part_epoch() {
  local data=${TANDEM_DATA:-/usr/share/datasets/fashion-mnist}
  [ -n "$plan" ] || [ -e "$data/train-images-idx3-ubyte.gz" ] || { skip "FashionMNIST's files are not in $data (TANDEM_DATA names another)" && return; }
  once epoch "${TANDEM_PEERS_PYTHON:-python3}" benchmarks/epoch.py $build --device cuda --epochs 5 --data "$data" --threads 8 --json $results/gpu_epoch.json
}
# Two ranks on one GPU. NCCL refuses this unless the ranks seem to be on two machines. It checks correctness, not speed.
part_nccl() {
  [ -n "$plan" ] || [ -x $build/tests/nccl_program ] || { skip "this build is without NCCL" && return; }
  once nccl env NCCL_SOCKET_IFNAME=lo $tandem launch -n 2 --timeout 280 -- $build/tests/nccl_program
}

# ---------------------------------------------------------------- building and packing
prepare() {
  local options=(-DTANDEM_BUILD_TESTS=ON -DTANDEM_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON) file stage=$session/stage check
  [ -z "${TANDEM_SESSION_GPU:-}" ] || options+=("-DCMAKE_CUDA_ARCHITECTURES=$TANDEM_SESSION_GPU")
  # shellcheck disable=SC2206
  options+=(${TANDEM_CMAKE_OPTIONS:-})
  if [ -n "$plan" ]; then
    say "cmake --preset cuda -B $build $(quoted "${options[@]}") && cmake --build $build -j $(nproc), then strip and tar"
    return
  fi
  cmake --preset cuda -B $build "${options[@]}" && cmake --build $build -j "${TANDEM_JOBS:-$(nproc)}" || return 1
  rm -rf $stage && mkdir -p $stage
  (cd $build && find . -path ./CMakeFiles -prune -o \( -name 'lib*.so*' -o -type f -perm -u+x -path './tests/*' ! -name '*.sh' -o -path ./tools/tandem -o -path ./benchmarks/benchmark_convolutions \) -print) |
    grep -v CMakeFiles | while read -r file; do (cd $build && cp -a --parents "$file" ../../$stage/); done
  find $stage -type f -exec strip {} + 2>/dev/null
  tar czf $session/programs.tar.gz -C $stage . && rm -rf $stage
  commit >$session/commit
  pwd >$session/source
  for check in memcheck racecheck; do changed_tags $check >$session/changed_$check; done
  say "$session/programs.tar.gz has $(($(stat -c %s $session/programs.tar.gz) >> 20)) MiB; changed kernels: $(<$session/changed_memcheck)"
}
unpack() {
  [ -e $session/programs.tar.gz ] || return 0
  if [ ! -x $tandem ] || [ $session/programs.tar.gz -nt $session/unpacked ]; then
    mkdir -p $build && tar xzf $session/programs.tar.gz -C $build && touch $session/unpacked
  fi
  in_git || cp $session/commit benchmarks/commit  # `tandem bench` reads the commit there
  local home libraries
  home=$(cat $session/source)
  if [ ! -e "$home" ]; then
    mkdir -p "$(dirname "$home")" && ln -s "$PWD" "$home" && say "$home is a link to $PWD: the tests look there for their files"
  fi
  # The folders of the CUDA libraries installed with PyTorch.
  libraries=$("${TANDEM_PEERS_PYTHON:-python3}" -c 'import glob, sysconfig; print(":".join(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib")))' 2>/dev/null)
  export LD_LIBRARY_PATH=$PWD/$build${libraries:+:$libraries}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# ---------------------------------------------------------------- the call
plan='' again='' all='' wanted=()
for word in "$@"; do
  case $word in
    --plan) plan=1 ;;
    --again) again=1 ;;
    --all) all=1 ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;;
    prepare) wanted+=(prepare) ;;
    *)
      [[ " $session_parts $more_parts" == *" $word:"* ]] || {
        say "'$word' is not a part; accepted: prepare $(names "$session_parts $more_parts")"
        exit 2
      }
      wanted+=("$word") ;;
  esac
done
mkdir -p $session/logs $session/wrong $results && rm -f $session/wrong/*
if [ "${wanted[*]}" = prepare ]; then prepare; exit; fi
[ ${#wanted[@]} -gt 0 ] || read -ra wanted <<<"$(names "$session_parts")"
if [ -z "$plan" ]; then
  has_gpu || { say "this machine has no GPU; --plan prints the parts without running them" && exit 3; }
  unpack
  [ -x $tandem ] || { say "$tandem is missing: benchmarks/gpu_session.sh prepare builds it, or packs it for this machine" && exit 2; }
fi
failed=() total=0
for part in "${wanted[@]}"; do
  part_limit=$(limit_of "$part") part_began=$SECONDS part_command='' skipped='' wrong=()
  if [ -n "$plan" ]; then
    "part_$part"
    total=$((total + part_limit))
    printf '%-12s at most %3d s%s\n' "$part" "$part_limit" "$(passed "$part" && echo ', which has passed at this commit')"
    [ -z "$skipped" ] || echo "    skipped: $skipped"
    [ -z "$part_command" ] || printf '    %s\n' "${part_command//; /$'\n'    }"
    continue
  fi
  if [ -z "$again" ] && passed "$part"; then say "$part has passed at $(commit)" && continue; fi
  [ $((session_seconds - SECONDS)) -gt 5 ] || { say "the time is used up before $part; call again to continue" && exit 4; }
  say "$part, at most $part_limit s"
  "part_$part"
  outcome=passed
  [ ${#wrong[@]} = 0 ] || outcome="failed: $(printf '%s, ' "${wrong[@]}" | sed 's/, $//')"
  [ -z "$skipped" ] || outcome="skipped: $skipped"
  printf '{%s, "seconds": %d, "limit": %d, "outcome": "%s"}\n' "$(facts)" $((SECONDS - part_began)) "$part_limit" "$(in_json "$outcome")" >>$record
  say "$part: $outcome, after $((SECONDS - part_began)) s"
  [[ $outcome != failed* ]] || failed+=("$part")
  [ -z "${OUT:-}" ] || tar czf "$OUT/gpu_session.tar.gz" $results/gpu_* $session/logs
done
[ -z "$plan" ] || { echo "at most $total s in all" && exit 0; }
[ ${#failed[@]} = 0 ] || { say "failed: ${failed[*]}" && exit 1; }
