#!/usr/bin/env bash
# Opens a page of `tandem compare` in headless Chromium, 1280 and 390 pixels wide, light and dark. The page must load
# nothing, raise no error, and cut nothing off. Exits with 77 ("skipped" for ctest) if there is no Chromium.
# usage: page_in_browser.sh PAGE.html [FOLDER]      FOLDER: receives a screenshot of each variant
set -euo pipefail
page=$(realpath "$1")
shots=${2:-}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: no Chromium was found; on Debian: apt install chromium"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$page" "$folder/page.html"

# Shows the page in a frame of the given width, with a script that inspects it.
frame() {
  cat >"$folder/frame.html" <<HTML
<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="frame" src="page.html" style="border:0;display:block;width:$1px;height:900px"></iframe><pre id="said" hidden></pre>
<script>
const found = [];
addEventListener('error', e => found.push('error: ' + e.message));
document.getElementById('frame').onload = function () {
  const page = this.contentDocument, view = this.contentWindow, name = e => e.tagName + ' "' + e.textContent.trim().slice(0, 40) + '"';
  view.addEventListener('error', e => found.push('error: ' + e.message));
  page.querySelectorAll('details').forEach(d => d.open = true);
  if (page.documentElement.scrollWidth > $1) found.push('wider than the window: ' + page.documentElement.scrollWidth);
  for (const e of view.performance.getEntriesByType('resource')) found.push('request: ' + e.name);
  for (const text of page.querySelectorAll('svg text')) {
    const svg = text.ownerSVGElement.getBoundingClientRect(), box = text.getBoundingClientRect();
    if (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 1 || box.bottom > svg.bottom + 1)
      found.push('cut off: ' + name(text) + ' in ' + name(text.closest('figure').querySelector('figcaption, h3, h4') || text));
  }
  for (const e of page.querySelectorAll('main *')) {
    if (e.closest('svg') || !e.clientWidth || e.scrollWidth <= e.clientWidth + 1) continue;
    const style = view.getComputedStyle(e);  // what scrolls shows all it has
    if (style.overflowX === 'hidden' || style.overflowX === 'clip') found.push('hidden: ' + name(e));
  }
  page.querySelectorAll('details').forEach(d => d.open = false);
  this.style.height = page.documentElement.scrollHeight + 'px';
  document.getElementById('said').textContent =
    'sections ' + page.querySelectorAll('section').length + '; ' + (found.length ? found.join('; ') : 'nothing found');
};
</script>
HTML
}
open_page() {
  timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
    --user-data-dir="$folder/profile" --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=4000 \
    --blink-settings=preferredColorScheme="$1" --enable-logging=stderr "${@:2}" "file://$folder/frame.html"
}

failed=0
for width in 1280 390; do
  frame "$width"
  for scheme in light dark; do
    number=$([ "$scheme" = dark ] && echo 0 || echo 1)
    open_page "$number" --dump-dom >"$folder/dom" 2>"$folder/log" || true
    said=$(sed -n 's/.*<pre id="said"[^>]*>\(.*\)<\/pre>.*/\1/p' "$folder/dom")
    echo "$width pixels, $scheme: ${said:-the page did not load}"
    grep 'CONSOLE' "$folder/log" && failed=1
    [[ "$said" == "sections "*"; nothing found" && "$said" != "sections 0;"* ]] || failed=1
    [ -z "$shots" ] || open_page "$number" --window-size="$width,${SHOT_HEIGHT:-4000}" --screenshot="$shots/page_${width}_$scheme.png" 2>/dev/null
  done
done
exit "$failed"
