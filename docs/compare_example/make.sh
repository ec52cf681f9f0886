#!/usr/bin/env bash
# Makes this folder anew: the page of `./run compare`, and a picture of parts of it, with which README.md and docs/course.md
# begin: the verdict, the throughput of each mode beside one device, and the timeline of a step.
# usage: docs/compare_example/make.sh [REPORT.json]     REPORT.json: one that is there already, in place of a new one
#        TANDEM=COMMAND: another `tandem` than build/release/tools/tandem
set -euo pipefail
cd "$(dirname "$0")/../.."
example=docs/compare_example
[ $# -gt 0 ] || ./run compare
"${TANDEM:-build/release/tools/tandem}" compare page "${1:-compare/report.json}" --out "$example/report.html"
tests/tools/page_in_browser.sh "$example/report.html"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
hidden='nav,footer,details,.up,main ul:not(.legend),h3,main>section:not(#verdict):not(#timeline),#timeline .wide:nth-child(n+2)'
sed "s|</style>|$hidden{display:none}section{padding-bottom:0}</style>|" "$example/report.html" >"$folder/page.html"
browser() {
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --virtual-time-budget=4000 \
    --user-data-dir="$folder/profile" --blink-settings=preferredColorScheme=1 "$@" 2>/dev/null
}
# The picture is as high as what is left of the page.
cat >"$folder/frame.html" <<'HTML'
<!DOCTYPE html><body><iframe id="frame" src="page.html" style="width:1280px;height:100px"></iframe><script>
document.getElementById('frame').onload = function () {
  document.body.dataset.height = 'height ' + Math.ceil(this.contentDocument.querySelector('main').getBoundingClientRect().bottom);
};
</script>
HTML
height=$(browser --dump-dom "file://$folder/frame.html" | sed -n 's/.*data-height="height \([0-9]*\)".*/\1/p')
browser --window-size="1280,$((height + 16))" --screenshot="$folder/page.png" "file://$folder/page.html"
cp "$folder/page.png" "$example/page.png"
