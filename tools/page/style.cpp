// The CSS of all pages. Colours are custom properties, so that light mode, dark mode and printing share the other
// rules. The colours are Okabe and Ito's palette, which colour-blind readers can distinguish; they also differ in
// lightness.
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::page {
namespace {

const char* const kColours = R"(
:root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--rule:#d5dae0;--grid:#e4e8ec;
--accent:#0058a8;--bad:#fde3dc;--badink:#8f2800;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#d55e00;--c4:#7cc4ee;--c5:#cc79a7;--c6:#a3a33a;--c7:#7a1f4e;--c8:#46a99a;--c9:#f0d84a;
--o0:#fff;--o1:#111;--o2:#fff;--o3:#fff;--o4:#111;--o5:#111;--o6:#111;--o7:#fff;--o8:#111;--o9:#111}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--card:#1d2127;--ink:#e8ebee;--soft:#a3adb8;--rule:#3a424c;
--grid:#2b323a;--accent:#7cc0ff;--bad:#4a2015;--badink:#ffb9a0;
--c0:#3d9bdc;--c2:#1fbf90;--c3:#ee7a29;--c4:#a5dafa;--c5:#dd94bd;--c6:#b9b955;--c7:#b3558a;--c8:#5cc4b4;
--o0:#111;--o2:#111;--o3:#111}}
@media print{:root{color-scheme:light;--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--rule:#bbb;--grid:#ddd}}
)";

const char* const kText = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main,nav,footer{max-width:1180px;margin:0 auto;padding:0 16px}
header{padding-top:28px}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .2em}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .5em}
h3{font-size:1rem;margin:1.2em 0 .3em}
p,ul{max-width:46em}
p{margin:.6em 0}
.meta,.lead{color:var(--soft);margin:.2em 0}
section{border-top:1px solid var(--rule);padding:22px 0 14px;scroll-margin-top:8px}
nav ol{columns:3 220px;padding-left:1.6em;margin:14px 0 22px}
nav li{break-inside:avoid;padding:3px 0}
a{color:var(--accent)}
.verdict{font-size:1.2rem;line-height:1.45;border-left:4px solid var(--accent);padding-left:14px}
.warn{background:var(--bad);color:var(--badink);padding:10px 14px;border-radius:6px;max-width:none}
.note{background:var(--card);border:1px solid var(--rule);padding:10px 14px;border-radius:6px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.92em}
details{margin:.7em 0}
summary{cursor:pointer;color:var(--accent);padding:4px 0}
.box{overflow-x:auto}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;margin:4px 0 8px}
th,td{padding:4px 12px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid);white-space:nowrap}
td:not(.n){white-space:normal;min-width:7em}
thead th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--rule)}
tbody th{font-weight:500}
.n{text-align:right}
tr.bad>*{background:var(--bad);color:var(--badink)}
tr.failed>*{color:var(--badink)}
@media (max-width:480px){h1{font-size:1.45rem}.verdict{font-size:1.08rem}dl{display:block}dt{margin-top:.5em}}
@media print{nav{display:none}section,figure,tr{break-inside:avoid}.box{overflow:visible}
details::details-content{content-visibility:visible;block-size:auto}}
)";

const char* const kCharts = R"(
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:18px 26px;margin:10px 0 14px;
align-items:start}
.chart{margin:0;min-width:0;max-width:500px}
.charts:has(>:nth-child(2):last-child),.charts:has(>:nth-child(4):last-child){grid-template-columns:repeat(auto-fill,minmax(min(100%,440px),1fr))}
.chart.wide{max-width:none;grid-column:1/-1}
.wide .box svg{min-width:760px}
p,li,figcaption{overflow-wrap:anywhere}
figcaption{font-weight:600;font-size:.93rem;line-height:1.35;margin-bottom:6px}
.box svg{display:block;width:100%;height:auto;font-size:11px;fill:var(--ink)}
.wide .box svg{font-size:12px}
.legend{list-style:none;margin:6px 0 4px;padding:0;display:flex;flex-wrap:wrap;gap:2px 14px;font-size:.8rem;color:var(--soft);
max-width:none}
.legend li{display:flex;align-items:center;gap:5px}
svg.key{width:22px;height:12px;flex:none;min-width:0;display:inline-block}
svg text{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
svg .al{fill:var(--soft)}svg .b{font-weight:600}
svg .e{text-anchor:end}svg .c{text-anchor:middle;fill:var(--soft)}
svg .g{stroke:var(--grid);stroke-width:1}svg .ax{stroke:var(--soft);stroke-width:1}
svg .l{fill:none;stroke-width:1.8;stroke-linejoin:round}svg .w{fill:none;stroke-width:1.2}svg .thin{fill:none;stroke-width:1}
svg .dash{stroke-dasharray:4 3;stroke-width:1.5}
svg .hollow{fill:var(--paper);stroke-width:1.6}
svg .m{stroke:var(--paper);stroke-width:.8}
svg .seg{stroke:var(--paper);stroke-width:.7}
svg .fi{fill:var(--ink)}svg .si{stroke:var(--ink)}
svg .fw{fill:var(--card);stroke:var(--soft);stroke-width:.9}
svg .fu{fill:var(--rule);stroke:var(--soft);stroke-width:.6;stroke-dasharray:2 2}
svg .fh{fill:var(--c9);fill-opacity:.45;stroke:var(--c9)}
svg .in{font-size:10px;stroke:none}svg .iw{fill:var(--ink)}
)";

}  // namespace

std::string page_style() {
  std::string style = std::string(kColours) + kText + kCharts;
  for (int i = 0; i < 10; ++i)
    style += cat("svg .f", i, "{fill:var(--c", i, ")}svg .s", i, "{stroke:var(--c", i, ")}svg .i", i, "{fill:var(--o",
                 i, ")}\n");
  return style;
}

}  // namespace tandem::tools::page
