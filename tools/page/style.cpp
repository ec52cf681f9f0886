// The CSS of all pages. Colours are custom properties, so that light mode, dark mode and printing share the other
// rules. Lines and points (--c) take colours of Okabe and Ito's palette. Areas (--p) take colours whose lightness
// differs, so that readers with protanopia, deuteranopia or tritanopia can tell them apart
// (tests/tools/page_look_test.cpp).
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::page {
namespace {

const char* const kColourCss = R"(
:root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--rule:#d5dae0;--grid:#e4e8ec;
--edge:#5f6872;--others:#7d8690;--shade:#0004;--accent:#0058a8;--bad:#fde3dc;--badink:#8f2800;
--c0:var(--ink);--c1:#d55e00;--c2:#0072b2;--c3:#009e73;--c4:#b8408f;
--p0:#fbd5ac;--p1:#27357f;--p2:#5fabf2;--p3:#ee80ac;--p4:#581c2e;--p5:#b5831c;--p6:#5d7848;--p7:#d3ec57;
--o0:#111;--o1:#fff;--o2:#111;--o3:#111;--o4:#fff;--o5:#111;--o6:#fff;--o7:#111}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--card:#1d2127;--ink:#e8ebee;--soft:#a3adb8;--rule:#3a424c;
--grid:#2b323a;--edge:#14171b;--others:#8b95a0;--shade:#fff4;--accent:#7cc0ff;--bad:#4a2015;--badink:#ffb9a0;
--c1:#ee7a29;--c2:#3d9bdc;--c3:#3fd0a4;--c4:#e088c6;
--p0:#fbdcb4;--p1:#5f78d8;--p2:#9fc4fb;--p3:#f79cc0;--p4:#ad6f99;--p5:#dd8f1a;--p6:#74874f;--p7:#d9f36a;
--o1:#111;--o4:#111;--o6:#111}}
@media print{:root{color-scheme:light;--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--rule:#bbb;--grid:#ddd}}
)";

const char* const kTextCss = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main,nav,footer{max-width:1180px;margin:0 auto;padding:0 16px}
header{padding-top:28px}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .2em}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .5em}
h3{font-size:1rem;margin:1.2em 0 .3em}
p,ul{max-width:46em}
main ul:not(.legend){max-width:none;columns:2 26em;column-gap:32px;padding-left:1.3em}
main li{break-inside:avoid}
p{margin:.6em 0}
.meta,.lead{color:var(--soft);margin:.2em 0}
section{border-top:1px solid var(--rule);padding:22px 0 14px;scroll-margin-top:8px}
nav ol{columns:4 220px;padding-left:1.6em;margin:14px 0 22px}
.up{float:right;font-size:.8rem;font-weight:400;line-height:1.8rem}
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
.fold{border:1px solid var(--rule);border-radius:6px;padding:4px 14px}
.box{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 40%,transparent) 0 0/48px 100% no-repeat local,
linear-gradient(270deg,var(--paper) 40%,transparent) 100% 0/48px 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) 0 0/14px 100% no-repeat,
linear-gradient(270deg,var(--shade),transparent) 100% 0/14px 100% no-repeat}
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

const char* const kChartCss = R"(
.charts{display:grid;gap:20px 32px;margin:12px 0 14px;align-items:start}
@media (min-width:760px){.charts{grid-template-columns:1fr 1fr}
.charts:has(>:nth-child(3n):last-child){grid-template-columns:1fr 1fr 1fr}
.charts:not(:has(>:nth-child(3n):last-child))>:nth-child(odd):last-child{grid-column:1/-1}
.chart.wide{grid-column:1/-1}}
.chart{margin:0;min-width:0}
p,li,figcaption{overflow-wrap:anywhere}
figcaption{font-weight:600;font-size:.93rem;line-height:1.35;margin-bottom:6px}
figcaption small{display:block;font-weight:400;font-size:.8rem;color:var(--soft)}
.wide .plot{min-width:760px}
@media (max-width:800px){.wide figcaption::after{content:"Scroll the chart sideways to see all of it.";display:block;
font-weight:400;font-size:.8rem;color:var(--soft)}}
.plot svg{display:block;width:100%;overflow:visible;font-size:11.5px}
.plot svg svg,.key svg{overflow:visible}
.curves path{vector-effect:non-scaling-stroke}
.legend{list-style:none;margin:6px 0 4px;padding:0;display:flex;flex-wrap:wrap;gap:2px 16px;font-size:.8rem;color:var(--soft);
max-width:none}
.legend li{display:flex;align-items:center;gap:5px}
svg.key{width:22px;height:12px;flex:none;min-width:0;display:inline-block;overflow:visible}
svg text{fill:var(--ink)}
svg .al{fill:var(--soft)}svg .b{font-weight:600}
svg .e{text-anchor:end}svg .c{text-anchor:middle;fill:var(--soft)}
svg .g{stroke:var(--grid);stroke-width:1}svg .ax{stroke:var(--soft);stroke-width:1}
svg .l{fill:none;stroke-width:1.8;stroke-linejoin:round}svg .w{fill:none;stroke-width:1.3}svg .thin{fill:none;stroke-width:1}
svg .ref{stroke-width:1.6}
svg .dash{stroke-dasharray:4 3;stroke-width:1.5}
svg .m{stroke:var(--paper);stroke-width:.8}
svg .seg{stroke:var(--edge);stroke-width:.8}
svg .hollow{fill:var(--paper);stroke-width:1.6}svg .so{stroke:var(--others)}svg .fo{fill:var(--others)}
svg .fw{fill:var(--card);stroke:var(--soft);stroke-width:.9}
svg .fu{fill:var(--rule);stroke:var(--soft);stroke-width:.8;stroke-dasharray:2 2}
svg .fh{fill:url(#stripes7);fill-opacity:.5}
svg .in{font-size:10.5px}
svg [class*="in ih"]{paint-order:stroke;stroke-width:4.5px;stroke-linejoin:round}
)";

constexpr int kLineColours = 5, kAreaColours = 8;

}  // namespace

std::string page_style() {
  std::string style = std::string(kColourCss) + kTextCss + kChartCss;
  for (int i = 0; i < kLineColours; ++i)
    style += str_cat("svg .f", i, "{fill:var(--c", i, ")}svg .s", i, "{stroke:var(--c", i, ")}svg .if", i,
                     "{fill:var(--paper)}\n");
  for (int i = 0; i < kAreaColours; ++i)
    style += str_cat("svg .p", i, "{fill:var(--p", i, ")}svg .h", i, "{fill:url(#stripes", i, ")}svg .ip", i,
                     ",svg .ih", i, "{fill:var(--o", i, ")}svg .ih", i, "{stroke:var(--p", i, ")}\n");
  return style;
}

std::string page_patterns() {
  std::string patterns;
  for (int i = 0; i < kAreaColours; ++i)
    patterns += str_cat("<pattern id=\"stripes", i,
                        "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                        "patternTransform=\"rotate(45)\"><rect class=\"p",
                        i,
                        "\" width=\"6\" height=\"6\"/><rect "
                        "width=\"2\" height=\"6\" style=\"fill:var(--o",
                        i, ");fill-opacity:.35\"/></pattern>\n");
  return "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>\n" + patterns +
         "</defs></svg>\n";
}

}  // namespace tandem::tools::page
