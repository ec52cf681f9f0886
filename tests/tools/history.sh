#!/usr/bin/env bash
# Tests benchmarks/history.py on made-up results: it keeps ratios to the fastest peer, and names the row that became
# slower.
set -euo pipefail
command -v python3 >/dev/null || { echo "SKIPPED: no python3" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp ../benchmarks/history.py "$folder"
result() {  # COMMIT, Tandem's milliseconds of `a`, of `b`, of `c`: three samples each
  python3 - "$@" <<'END'
import json, sys
def samples(text): return [float(v) for v in text.split(",")]
def row(name, ours, peers):
    made = {k: {"median_ms": sorted(v)[1], "samples_ms": v} for k, v in {"tandem": ours, **peers}.items()}
    return {"name": name, "shapes": "1", "results": made}
peers = {"slow": [20.0, 20.0, 20.0], "fast": [10.0, 10.0, 11.0]}
rows = [row(name, samples(ms), peers) for name, ms in zip("abc", sys.argv[2:])] + [row("alone", [1.0, 1.0, 1.0], {})]
print(json.dumps({"build": {"commit": sys.argv[1]}, "date": "2026-01-01", "machine": {"cpu": "x", "instruction_set": "v3"},
                  "settings": {"threads": 2}, "programs": [{"name": "tandem", "version": "0"}], "benchmarks": rows}))
END
}
result aaaa 5,5,5 5,5,5 5,4,6 >"$folder/old.json"
result bbbb 5,5,5 8,8,8 6,5,7 >"$folder/new.json"
"$folder/history.py" add "$folder/old.json" "$folder/new.json" >"$folder/said"
grep -q 'old.json: 3 rows of aaaa' "$folder/said"
grep -q '"b 1":\["fast",1.25,1.25,1.38\]' "$folder/history.jsonl"
! "$folder/history.py" compare aaaa bbbb >"$folder/said" || exit 1
grep -q '^slower: b 1, 2 threads: 2 to 1.25 of fast (0.62)$' "$folder/said"
grep -q '^doubtful: c 1' "$folder/said"
! grep -q ': a 1' "$folder/said" || exit 1
grep -q '^3 rows, .* 1 slower$' "$folder/said"
"$folder/history.py" compare aaaa aaaa >"$folder/said"
grep -q ' 0 slower' "$folder/said"
! "$folder/history.py" compare aaaa cccc 2>"$folder/said" || exit 1
grep -q 'has aaaa, bbbb' "$folder/said"
