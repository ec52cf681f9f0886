#!/usr/bin/env bash
# Tests benchmarks/gpu_session.sh in a made-up checkout, where nvidia-smi, the test programs and the tandem command only
# record how they were called: which parts run, that no part is repeated, the effect of a changed kernel, that a part
# which hangs is ended and named, and the contents of the records. Also checks that each CUDA file of the real checkout
# has tests.
set -euo pipefail
for tool in git python3 timeout; do
  command -v $tool >/dev/null || { echo "SKIPPED: no $tool" >&2; exit 77; }
done
source=$(cd .. && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "gpu_session_test: $*"; exit 1; }

# Each file of the CUDA backend has tags, each tag has tests, and the tag of each test is known.
script=$source/benchmarks/gpu_session.sh
eval "$(sed -n '/^tags_of()/,/^}/p; /^all_tags=/p' "$script")"
for file in "$source"/kernels/cuda/* "$source"/kernels/cuda/*/*; do
  [ -f "$file" ] || continue
  file=${file#"$source"/}
  case $file in *CMakeLists.txt) continue ;; esac
  [ "$(tags_of "$file")" != "$all_tags" ] || fail "no tags are named for $file"
done
cat "$source"/tests/kernels/cuda_*_test.cpp | grep -oE '\[cuda\]\[[a-z_]+\]' | sed 's/.*\[\([a-z_]*\)\]/\1/' | sort -u >"$folder/tags"
diff <(tr ' ' '\n' <<<"$all_tags") "$folder/tags" || fail "all_tags are not those of tests/kernels/cuda_*_test.cpp"

cd "$folder"
mkdir -p benchmarks/results tests/op_cases kernels/cuda bin build/gpu/tests/op_cases build/gpu/tools out
cp "$script" benchmarks/
touch tests/op_cases/{activation,large,view}.cpp kernels/cuda/{pool,softmax}.cu
printf '%s\n' 'benchmark  median  pytorch  x' 'abs/forward  1048576  6.78 us  6.63 us  0.98' 'where/forward  64x3  7 us  5 us  0.71' >benchmarks/results/gpu_kernels.txt
printf 'build\nbin\nout\nsaid\ntags\n' >.gitignore
cat >bin/nvidia-smi <<'END'
#!/bin/sh
case "$1" in -L) echo "GPU 0: Stand-in" ;; *name*) echo 'Stand-in "A"' ;; *driver*) echo 580.1 ;; esac
END
printf '#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nexec "$@"\n' >bin/compute-sanitizer
printf '#!/bin/sh\nexit 0\n' >bin/python
cat >build/gpu/program <<'END'
#!/bin/sh
echo "${0##*/} $*${TANDEM_OP_FAMILY:+ of $TANDEM_OP_FAMILY}" >>build/calls
[ ! -e build/hang ] || case "$0" in *cuda_core_test) sleep 60 ;; esac
[ ! -e build/break ] || case "$0 $*" in *bench*) echo broken && exit 3 ;; esac
[ -z "$TANDEM_OP_REPORT" ] || echo "$TANDEM_OP_FAMILY cuda" >"$TANDEM_OP_REPORT"
case "$1" in compare) mkdir -p build/gpu_session/logs/compare && echo '{"ranks": 2}' >build/gpu_session/logs/compare/report.json ;; esac
echo 'benchmark  median'
while [ $# -gt 0 ]; do [ "$1" != --json ] || echo '{"made": "up"}' >"$2"; shift; done
END
chmod +x bin/* build/gpu/program
for program in cuda_core_test cuda_kernels_test cuda_parallel_test core_test graph_test nn_test optim_test training_test \
  data_parallel_test distributed_test op_cases/ops_test; do cp build/gpu/program build/gpu/tests/$program; done
cp build/gpu/program build/gpu/tools/tandem
git init -q . && git add -A
keep() { git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$1"; }
keep first
session() { env TANDEM_TEST_JOBS=16 PATH="$folder/bin:$PATH" TANDEM_PEERS_PYTHON="$folder/bin/python" OUT="$folder/out" benchmarks/gpu_session.sh "$@" >said 2>&1; }
status_of() { "$@" && echo 0 || echo $?; }
calls() { wc -l <build/calls; }
last() { tail -n "$1" benchmarks/results/gpu_session.jsonl; }

# Without a GPU, the script can print the plan, and refuses to run.
PATH=/usr/bin:/bin benchmarks/gpu_session.sh --plan >said || fail "--plan needs a GPU: $(cat said)"
grep -q '^tests  *at most 150 s$' said || fail "the plan names no limit"
total=$(sed -n 's/^at most \([0-9]*\) s in all$/\1/p' said)
[ "$total" -le 600 ] || fail "the parts of a session take $total s, more than ten minutes"
[ "$(grep -c ' at most ' said)" = 9 ] || fail "the plan has other parts: $(cat said)"
[ "$(status_of session nothing)" = 2 ] || fail "a part that there is not was accepted"
grep -q "'nothing' is not a part; accepted: prepare tests memcheck .* nccl" said || fail "the parts are not named: $(cat said)"
mv bin/nvidia-smi build/
[ "$(status_of session tests)" = 3 ] || fail "without a GPU the status is not 3"
mv build/nvidia-smi bin/

# All parts of a session run.
[ "$(status_of session)" = 0 ] || fail "a session of parts that pass: $(cat said)"
[ "$(grep -c '^cuda_kernels_test \[' build/calls)" = 26 ] || fail "without a record both tools look at all 13 tags"
grep -q '^ops_test \[values\] of view$' build/calls || fail "the op tests did not run by families"
! grep -q 'of large' build/calls || fail "large.cpp is no family"
grep -q '^tandem bench --device cuda --filter train_step,inference --repeats 3 --seconds 0.03 --peers pytorch-graphs-tuned --json' build/calls ||
  fail "steps are not beside PyTorch's graphs"
grep -q '^tandem bench .*--precision high' build/calls || fail "no steps in TF32"
grep -q '^tandem bench --device cuda --case where/forward 64x3 --repeats' build/calls || fail "the rows that lose are not those of gpu_kernels.txt"
python3 - <<'END' || fail "the records are wrong"
import json, os, re
lines = [json.loads(line) for line in open("benchmarks/results/gpu_session.jsonl")]
assert [r["part"] for r in lines] == "tests memcheck racecheck steps steps_tf32 compiled losers host compare".split()
for r in lines:
    assert r["outcome"] == "passed" and r["gpu"] == 'Stand-in "A"' and r["driver"] == "580.1", r
    assert re.fullmatch("[0-9a-f]{9}", r["commit"]) and re.match(r"20\d\d-\d\d-\d\dT", r["date"]) and r["command"], r
    assert 0 <= r["seconds"] <= r["limit"], r
host = json.load(open("benchmarks/results/gpu_host.json"))
assert host["table"] == {"made": "up"} and host["commit"] == lines[0]["commit"] and "trace" in host["command"], host
assert json.load(open("benchmarks/results/gpu_compare.json"))["table"] == {"ranks": 2}
for name in ("steps", "steps_tf32", "compiled", "losers"):
    assert os.path.exists(f"benchmarks/results/gpu_{name}.json"), name
assert open("benchmarks/results/gpu_ops.txt").read().splitlines()[1:] == ["activation cuda", "view cuda"]
END
grep -q benchmarks/results/gpu_session.jsonl <<<"$(tar tzf out/gpu_session.tar.gz)" || fail "the archive lacks the record"

# No part is repeated at one commit, unless asked for again by name.
before=$(calls)
session || fail "the second call: $(cat said)"
[ "$(calls)" = "$before" ] || fail "a part that has passed at this commit was repeated"
grep -q '^gpu_session: tests has passed at' said || fail "it does not say that the part has passed"
session steps --again && [ "$(calls)" = $((before + 1)) ] || fail "--again did not repeat the part"
keep results
session host && [ "$(calls)" = $((before + 2)) ] || fail "another commit is not measured anew"

# After a kernel has changed, the tags of that kernel run.
echo changed >kernels/cuda/softmax.cu && keep softmax
: >build/calls
session memcheck racecheck && [ "$(cat build/calls)" = $'cuda_kernels_test [norm]\ncuda_kernels_test [norm]' ] ||
  fail "a change of softmax.cu brought $(cat build/calls)"
keep nothing
session memcheck
grep -q '"outcome": "skipped: no kernel has changed since' <<<"$(last 1)" || fail "nothing changed, and $(last 1)"

# A part that hangs is ended and named, a part that fails is reported, and the next parts run.
touch build/hang build/break
[ "$(TANDEM_PART_SECONDS=5 status_of session tests steps compare)" = 1 ] || fail "a failure has not status 1: $(cat said)"
grep -q '"outcome": "failed:.*cuda_core_test: not done within [1-5] s' <<<"$(last 3)" || fail "what hangs is not named: $(last 3)"
grep -q '"part": "steps".*"outcome": "failed: steps: status 3"' <<<"$(last 2)" || fail "what fails is not named: $(last 3)"
grep -q '"part": "compare".*"outcome": "passed"' <<<"$(last 1)" || fail "the part behind it did not run"
grep -q '^gpu_session: failed: tests steps$' said || fail "the parts that failed are not named at the end"
rm build/hang build/break
[ "$(TANDEM_SESSION_SECONDS=2 status_of session tests)" = 4 ] || fail "when time is up the status is not 4"
: >build/calls
session tests steps compare || fail "it does not go on: $(cat said)"
! grep -q '^tandem compare' build/calls || fail "the part that had passed was repeated"
grep -q '^cuda_core_test' build/calls || fail "the part that had failed was not repeated"
echo changed >>kernels/cuda/pool.cu
session host && grep -q '"commit": "[0-9a-f]*+"' <<<"$(last 1)" || fail "sources that are not a commit's are not marked"

# A build is packed here, and unpacked at another path without git.
git checkout -q . && rm -f build/gpu_session/wrong/* && mkdir -p build/gpu/CMakeFiles && touch build/gpu/libtandem.so.0.1 build/gpu/tests/notes.txt
keep packed
printf '#!/bin/sh\necho "cmake $*" >>build/calls\n' >bin/cmake && chmod +x bin/cmake && : >build/calls
session prepare || fail "prepare: $(cat said)"
grep -q '^cmake --preset cuda -B build/gpu .*-DBUILD_SHARED_LIBS=ON' build/calls || fail "prepare did not build"
packed=$(tar tzf build/gpu_session/programs.tar.gz)
for file in ./tests/cuda_core_test ./tests/op_cases/ops_test ./tools/tandem ./libtandem.so.0.1; do
  grep -qxF "$file" <<<"$packed" || fail "$file is not packed: $packed"
done
! grep -qE 'notes|program$' <<<"$packed" || fail "what is no program is packed: $packed"
[ "$(cat build/gpu_session/commit)" = "$(git rev-parse --short=9 HEAD)" ] || fail "the commit is not packed"
mkdir -p there/checkout
cp -r benchmarks tests kernels there/checkout/
mkdir -p there/checkout/build && cp -r build/gpu_session there/checkout/build/
echo "$folder/there/at/home" >there/checkout/build/gpu_session/source
commit=$(git rev-parse --short=9 HEAD)
cd there/checkout
export GIT_CEILING_DIRECTORIES=$folder/there
rm -f benchmarks/results/gpu_session.jsonl
session host memcheck || fail "what was packed does not run: $(cat said)"
[ -L "$folder/there/at/home" ] || fail "the path at home is no link"
[ "$(cat benchmarks/commit)" = "$commit" ] || fail "tandem bench is not told the commit"
grep -q "\"commit\": \"$commit\".*\"part\": \"host\".*\"outcome\": \"passed\"" benchmarks/results/gpu_session.jsonl || fail "the record has another commit: $(last 2)"
