#!/usr/bin/env bash
# Tests soak.py in a made-up checkout, where ./run and the test programs only print. It must record each part's output,
# continue where it was stopped, not repeat parts that have passed at a commit, end a part that hangs, and write its
# page.
set -euo pipefail
for tool in python3 git; do
  command -v $tool >/dev/null || { echo "SKIPPED: no $tool" >&2; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p tests/soak tests/tools docs build/release/tests
cp "$here/soak.py" tests/soak/
printf "build\nsaid\nlast\n" >.gitignore
cat >run <<'END'
#!/bin/sh
echo "$@" >>build/calls
[ -e build/differ ] && differ=200 || differ=10
case "$1" in
  differential) echo "50000 programs of seed $5: $((49900 - differ)) agree (99.8 %; 150 of them with a second run of PyTorch), 100 differ as intended (0.20 %), $differ differ; 9 s"; exit 1 ;;
  sanitize) for n in 55 32; do echo "100% tests passed, 0 tests failed out of $n"; done ;;
  faults)
    case "$*" in *restarts*) echo "9 jobs under tandem launch --max-restarts 3: 200 ranks killed, 20 restarts, 15 of them from a checkpoint" ;;
    *) printf '%-40s %7d %10d %11d %10d %10d %11d\n' 'kill in training, tandem launch' 200 400 12 310 0 0 ;; esac
    echo "0 violations" ;;
  fuzz) [ -e build/hang ] && { sleep 100 & echo $! >build/slept; wait; }
    for t in a b c; do echo "stat::number_of_executed_units: 1000"; done ;;
esac
END
printf '#!/bin/sh\necho "All tests passed (7 assertions in 2 test cases)"\n' >build/release/tests/distributed_test
cat >tests/tools/disturbances.py <<'END'
#!/bin/sh
echo "none: $2 of $2 right, 0 with a wrong name
stop: 19 of $2 right, 1 with a wrong name"
END
printf '#!/bin/sh\necho python3\n' >tests/python_with.sh
cat >tests/soak/language_models.py <<'END'
print("gpt2: 124439808 parameters; loss 10.9, relative error 1.0e-07; 148 gradients, the largest relative error 2.0e-06 (wte)")
print("0 differences")
END
cat >tests/soak/tokenizer_lines.sh <<'END'
#!/bin/sh
echo "573 code points differ, 0 unlike tokenizer_code_points.txt"
echo "200,000 lines, 1,600,000 comparisons with tokenizers 1.2.3: 0 differ"
END
chmod +x run build/release/tests/distributed_test tests/tools/disturbances.py tests/python_with.sh tests/soak/tokenizer_lines.sh
cp tests/soak/tokenizer_lines.sh tests/soak/gpt2_lines.sh
cp build/release/tests/distributed_test build/release/tests/data_test
cp build/release/tests/distributed_test build/release/tests/serialize_test
git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first
fail() { echo "soak_test: $*"; exit 1; }
soak() { tests/soak/soak.py "$@"; }

! soak --check >said || fail "a page that is not there is in step"
{ soak --document && soak --check; } || fail "the page that was written is out of step"
grep -q '| `faults` .* | never |' docs/soak.md || fail "a part that has not run has run"
! soak nothing 2>said || fail "a part that there is not was accepted"
grep -q "'nothing' is not a part; accepted: differential-1" said || fail "the parts are not named"

soak >said || fail "all parts pass: $(cat said)"
[ "$(wc -l <tests/soak/records.jsonl)" = 14 ] || fail "there are $(wc -l <tests/soak/records.jsonl) records of 14 parts"
soak --check || fail "the page is not written with the records"
python3 - <<'END' || fail "the records are wrong"
import json, re
records = {r["part"]: r for r in map(json.loads, open("tests/soak/records.jsonl"))}
for r in records.values():
    assert r["outcome"] == "passed" and re.fullmatch(r"[0-9a-f]{9}", r["commit"]) and "cores" in r["machine"], r
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", r["date"]) and r["command"] and r["seconds"] >= 0, r
assert records["differential-2"]["figures"] == {"programs": 50000, "seed": records["differential-2"]["command"].split()[-1],
                                                "agree": 49890, "of a second run": 150, "wanted": 100, "differ": 10, "not run": 0}
assert len({records[f"differential-{i}"]["figures"]["seed"] for i in (1, 2, 3)}) == 3
assert records["faults"]["figures"] == {"violations": 0, "trials": 200, "survivors": 400, "worst ms": 310}
assert records["restarts"]["figures"]["ranks killed"] == 200
assert records["fuzz"]["figures"] == {"inputs": 3000, "targets": 3}
assert records["disturbances"]["figures"] == {"none of 20": 20, "stop of 20": 19, "wrong names without a disturbance": 0}
assert records["tokenizers"]["figures"] == {"lines": 200000, "comparisons": 1600000, "differ": 0,
                                            "code points of other Unicode versions": 573}
assert records["tokenizers-gpt2"]["figures"]["differ"] == 0
assert records["long"]["figures"] == {"assertions": 21, "test cases": 6}
assert records["language-models"]["figures"] == {"differences": 0, "gpt2 loss": "1.0e-07", "gpt2 gradients": "2.0e-06"}
assert records["sanitizers"]["figures"] == {"programs": 87, "failed": 0}
END
calls=$(wc -l <build/calls)
soak >said
[ "$(wc -l <build/calls)" = "$calls" ] || fail "what has passed at this commit ran again"
soak fuzz --again >said
[ "$(wc -l <build/calls)" = $((calls + 1)) ] || fail "--again did not run it again"

# With these records but another commit, all parts run again. A part that fails says why, and the others still run.
git add -A && git -c user.name=a -c user.email=a@b commit -qm second
touch build/differ build/hang
! soak differential-1 fuzz collectives --limit 2 >said || fail "a part that fails ended with 0"
tail -n 3 tests/soak/records.jsonl >last
grep -q '"part": "differential-1".*"why": "99.60 % agree or differ as intended; required: 99.7 %"' last || fail "differences pass: $(cat last)"
grep -q '"part": "fuzz".*"outcome": "failed", "why": "not finished within 2 s"' last || fail "a part that hangs is not named: $(cat last)"
grep -q '"part": "collectives".*"outcome": "passed"' last || fail "the part after those that failed did not run"
! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$(cat build/slept)/status" 2>/dev/null || fail "what the part had started is still there"
grep -q '^soak: failed: differential-1, fuzz$' said || fail "what failed is not named"
rm build/differ build/hang
soak >said
grep -q '^soak: collectives has already passed at' said || fail "it did not go on behind what has passed"
! grep -q '^soak: fuzz has already passed' said || fail "what failed was not repeated"
echo changed >>run
soak collectives >said
grep -q '"commit": "[0-9a-f]*+"' <<<"$(tail -n 1 tests/soak/records.jsonl)" || fail "changed sources are not marked"
sed -i 's/passed/failed/' tests/soak/records.jsonl
! soak --check >said || fail "records that were changed are in step"
