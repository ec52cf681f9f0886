#!/usr/bin/env bash
# Makes this folder anew: the page of `./run compare`, and a picture of its head, with which README.md and docs/course.md begin.
# usage: docs/compare_example/make.sh [REPORT.json]     REPORT.json: one that is there already, in place of a new one
set -euo pipefail
cd "$(dirname "$0")/../.."
example=docs/compare_example
[ $# -gt 0 ] || ./run compare
build/release/tools/tandem compare page "${1:-compare/report.json}" --out "$example/report.html"
folder=$(mktemp -d)
# The verdict, and the first bars of where a step goes; the picture ends there (PICTURE_HEIGHT), before the timeline.
sed 's|</style>|nav,footer,details,main>section:not(#verdict):not(#anatomy):not(#timeline),#anatomy>*:nth-child(n+4),#timeline>ul:last-of-type{display:none}</style>|' \
  "$example/report.html" >"$folder/page.html"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
  --blink-settings=preferredColorScheme=1 --window-size="1280,${PICTURE_HEIGHT:-1950}" --screenshot="$folder/page.png" "file://$folder/page.html" 2>/dev/null
cp "$folder/page.png" "$example/page.png"
