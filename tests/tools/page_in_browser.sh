#!/usr/bin/env bash
# Opens a page of `tandem compare` or `tandem demo` in headless Chromium, 1280 and 390 pixels wide, light and dark. Fails
# if the page loads anything, raises an error, is wider than the window, cuts text off, or draws text over other text or
# lines; if a link leads nowhere; or if something is cut off without a shadow that says so. Exits with 77, "skipped" for
# ctest, if there is no Chromium.
# usage: page_in_browser.sh PAGE.html|TEST_PROGRAM [FOLDER]
#   TEST_PROGRAM: writes a page in its tests with the tag [page]      FOLDER: for a screenshot of each width and scheme
set -euo pipefail
page=$(realpath "$1")
shots=${2:-}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: no Chromium was found; on Debian: apt install chromium"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [[ "$page" == *.html ]]; then
  cp "$page" "$folder/page.html"
else
  TANDEM_TEST_PAGE="$folder/page.html" "$page" "[page]" >"$folder/log" || { cat "$folder/log"; exit 1; }
fi

# The page in a frame of the width asked for, and what looks at it there.
frame() {
  cat >"$folder/frame.html" <<HTML
<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="frame" src="page.html" style="border:0;display:block;width:$1px;height:900px"></iframe><pre id="said" hidden></pre>
<script>
const found = [];
addEventListener('error', e => found.push('error: ' + e.message));
document.getElementById('frame').onload = function () {
  const page = this.contentDocument, view = this.contentWindow, name = e => e.tagName + ' "' + e.textContent.trim().replace(/\s+/g, ' ').slice(0, 60) + '"';
  view.addEventListener('error', e => found.push('error: ' + e.message));
  page.querySelectorAll('details').forEach(d => d.open = true);
  if (page.documentElement.scrollWidth > $1) found.push('wider than the window: ' + page.documentElement.scrollWidth);
  for (const e of view.performance.getEntriesByType('resource')) found.push('request: ' + e.name);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  for (const plot of page.querySelectorAll('.plot')) {
    const where = ' in ' + name(plot.closest('figure').querySelector('figcaption'));
    const frame = plot.getBoundingClientRect(), top = plot.firstElementChild.getBoundingClientRect().top;
    const texts = [...plot.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push('cut off: ' + name(text) + where);
      if (text.hasAttribute('transform')) return;  // the box of turned text is larger than the text
      for (const [other, place] of texts.slice(i + 1))
        if (!other.hasAttribute('transform') && meet(box, place)) found.push(name(text) + ' over ' + name(other) + where);
    });
    for (const line of plot.querySelectorAll('line.g, line.ref')) {
      const box = line.getBoundingClientRect(), y1 = +line.getAttribute('y1'), y2 = +line.getAttribute('y2');
      const [dash, gap] = (line.getAttribute('stroke-dasharray') || (y2 - y1) + ' 1').split(' ').map(Number);
      for (let y = y1; y < y2; y += dash + gap) {
        const part = {left: box.left - 2, right: box.left + 2, top: top + y, bottom: top + Math.min(y + dash, y2)};
        for (const [text, place] of texts)
          if (!text.classList.contains('in') && meet(part, place)) found.push('a line crosses ' + name(text) + where);
      }
    }
  }
  for (const link of page.querySelectorAll('a[href^="#"]'))
    if (!page.getElementById(link.getAttribute('href').slice(1))) found.push('a link to nowhere: ' + name(link));
  for (const e of page.querySelectorAll('main *')) {
    if (e.closest('svg') || !e.clientWidth || e.scrollWidth <= e.clientWidth + 1 || e.classList.contains('plot')) continue;
    const style = view.getComputedStyle(e);
    if (style.overflowX === 'hidden' || style.overflowX === 'clip') found.push('hidden: ' + name(e));
    else if (e.classList.contains('box') && !style.backgroundImage.includes('gradient')) found.push('no shadow: ' + name(e));
    else if (style.overflowX === 'visible' && !e.closest('.box')) found.push('sticks out: ' + name(e));
  }
  if (page.querySelectorAll('.plot').length === 0) found.push('no chart');
  page.querySelectorAll('details').forEach(d => d.open = false);
  this.style.height = page.documentElement.scrollHeight + 'px';
  document.getElementById('said').textContent =
    'sections ' + page.querySelectorAll('section').length + '; ' + (found.length ? found.join('; ') : 'nothing found');
};
</script>
HTML
}
open_page() {
  timeout 180 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
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
