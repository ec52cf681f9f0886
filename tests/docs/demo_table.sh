#!/usr/bin/env bash
# demo_table.sh SOURCE BUILD DIGITS: compares the memory and bytes columns of the `tandem demo` tables in README.md and
# docs/course.md with the command's output. These numbers do not depend on the images, the number of threads or the
# number of steps. So the test trains on the few images in DIGITS and adds the memory of FashionMNIST's images, which
# are on the first device, or in each process. At the peak, the loader's thread may have prepared a batch or two more or
# less, 0.4 MiB each. Seconds and accuracies are not compared. For the table of the example `trainer` in docs/course.md, it
# compares the memory, and checks that the loss is the same with all parallel strategies.
set -euo pipefail
source=$1 build=$2 digits=$3
"$build/tools/tandem" doctor 2>&1 | grep -q '^oneDNN *used' || {
  echo "SKIPPED: the tables are of a build with oneDNN, and this one has none" >&2
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Lists PAGE:LINE <tab> OPTIONS of the command <tab> MODE <tab> PEAKS <tab> MIB for each table row.
awk '
  /^ *(tandem|\.\/run) demo/ { options = $0; sub(/^ *(tandem|\.\/run) demo */, "", options); sub(/  +#.*/, "", options) }
  /^    (single|dp|ddp_gloo|ddp_local) +[0-9.]+ +[0-9]+ +[0-9.]+ % / {
    peaks = $6
    n = 7
    if (NF > 8) peaks = peaks " " $(n++)
    print FILENAME ":" FNR "\t" (options == "" ? "-" : options) "\t" $1 "\t" peaks "\t" $n
  }' "$source/README.md" "$source/docs/course.md" >"$work/shown"
[ "$(wc -l <"$work/shown")" -ge 11 ] || {
  echo "the pages show fewer rows of tandem demo than they did:" && cat "$work/shown"
  exit 1
}
failed=0
while IFS=$'\t' read -r place options mode peaks moved; do
  model=fashion_cnn
  [[ ! $options =~ --model\ ([a-z_]+) ]] || model=${BASH_REMATCH[1]}
  [ -e "$work/$model" ] || "$build/tools/tandem" demo --model "$model" --data "$digits" --compare-steps 1 --threads 2 >"$work/$model" || {
    cat "$work/$model"
    exit 1
  }
  # An image has 784 bytes and its label 8. FashionMNIST has 70,000 images, the data set in DIGITS 2,300.
  awk -v place="$place" -v mode="$mode" -v peaks="$peaks" -v moved="$moved" '
    function differ(a, b, most) { return a - b > most || b - a > most }
    $1 == mode && / % / {
      n = split(peaks, shown, " ")
      images = (70000 - 2300) * (784 + 8) / 1048576
      for (i = 1; i <= n; ++i) {
        loads = i == 1 || mode == "ddp_gloo"
        now = $(5 + i) + (loads ? images : 0)
        text = text sprintf(" %.1f", now)
        if (differ(now, shown[i], loads ? 0.9 : 0.11)) wrong = 1
      }
      if (differ($(6 + n), moved, 0.011)) wrong = 1
      found = 1
      if (wrong) print place ": " mode " shows " peaks " and " moved " MiB; now it is" text " and " $(6 + n)
      exit
    }
    END { if (!found) print place ": tandem demo has no row " mode; exit wrong || !found }' "$work/$model" || failed=1
done <"$work/shown"
[ -x "$build/examples/trainer" ] || exit $failed
sed -nE 's/^\| `trainer (\w+) ([0-9])` \| ([0-9, to]+) \| ([0-9.]+) \|.*/\1 \2 \4 \3/p' "$source/docs/course.md" |
  sed 's/,//g; s/ to /-/' >"$work/trainer"
[ "$(wc -l <"$work/trainer")" = 4 ] || { echo "docs/course.md shows other rows of the example trainer" && exit 1; }
while read -r strategy devices shown_loss shown_peaks; do
  (cd "$work" && CUDA_VISIBLE_DEVICES= "$build/examples/trainer" "$strategy" "$devices" "runs/$strategy") >"$work/output" 2>&1
  loss=$(sed -nE 's/.*best val_loss ([0-9.]+).*/\1/p' "$work/output")
  peaks=$(sed -n 's/^peak memory in KiB: //p' "$work/output")
  # The loader's thread and the ranks make peaks vary by some KiB. Rounding of another instruction set changes the loss.
  awk -v a="$shown_peaks" -v b="$peaks" 'BEGIN {
    n = split(a, x, " "); m = split(b, y, " ")
    for (i = 1; i <= n; ++i) {
      if (split(x[i], range, "-") == 1) range[2] = range[1]
      if (range[1] - y[i] > 30 || y[i] - range[2] > 30) exit 1
    }
    exit n != m }' || { echo "docs/course.md: trainer $strategy shows $shown_peaks KiB; now it is $peaks" && failed=1; }
  if [ "$devices" = 1 ]; then
    alone=$loss
  else
    parallel=${parallel:-$loss}
    [ "$loss" = "$parallel" ] && [ "$loss" != "$alone" ] || { echo "trainer $strategy: val_loss $loss, not $parallel" && failed=1; }
  fi
done <"$work/trainer"
exit $failed
