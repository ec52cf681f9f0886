#!/usr/bin/env bash
# Makes this folder anew: the page of `./run compare`, and the picture that README.md and docs/course.md begin with.
# usage: docs/compare_example/make.sh [REPORT.json]     REPORT.json: one that is there already, in place of a new one
set -euo pipefail
cd "$(dirname "$0")/../.."
example=docs/compare_example
[ $# -gt 0 ] || ./run compare
build/release/tools/tandem compare page "${1:-compare/report.json}" --out "$example/report.html"
folder=$(mktemp -d)
# Of the page the parts that say most: the verdict, where a step of the first model goes, and its timeline.
sed 's|</style>|nav,footer,details,main>section:not(#verdict):not(#anatomy):not(#timeline),#anatomy>*:nth-child(n+4),#timeline>ul:last-of-type{display:none}</style>|' \
  "$example/report.html" >"$folder/page.html"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
  --blink-settings=preferredColorScheme=1 --window-size="1280,${PICTURE_HEIGHT:-1950}" --screenshot="$folder/page.png" "file://$folder/page.html" 2>/dev/null
cp "$folder/page.png" "$example/page.png"
