// Implements Scale, which chooses round ends and ticks for an axis. Also draws markers, legend entries and the frame of
// charts.
#include "tandem/tools/page/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tandem/tools/page/format.h"

namespace tandem::tools::page {
namespace {

struct AxisUnit {
  double size;
  const char* name;
};
/// Returns the unit that all tick labels of a linear axis use.
AxisUnit choose_unit(Unit unit, double largest) {
  switch (unit) {
    case Unit::kSeconds:
      return largest >= 1 ? AxisUnit{1, " s"} : largest >= 1e-3 ? AxisUnit{1e-3, " ms"} : AxisUnit{1e-6, " µs"};
    case Unit::kBytes:
      return largest >= 1 << 30   ? AxisUnit{1 << 30, " GiB"}
             : largest >= 1 << 20 ? AxisUnit{1 << 20, " MiB"}
             : largest >= 1 << 10 ? AxisUnit{1 << 10, " KiB"}
                                  : AxisUnit{1, " B"};
    case Unit::kBandwidth: return largest >= 1e9 ? AxisUnit{1e9, " GB/s"} : AxisUnit{1e6, " MB/s"};
    case Unit::kPercent: return {0.01, " %"};
    case Unit::kNone: break;
  }
  return {1, ""};
}

/// Removes trailing zeros: "1.00 ms" becomes "1 ms", "4.00 KiB" becomes "4 KiB".
std::string strip_trailing_zeros(std::string text) {
  const size_t space = text.find(' '), point = text.find('.');
  if (point == std::string::npos || space == std::string::npos) return text;
  const size_t last = text.find_last_not_of('0', space - 1);
  return text.erase(last == point ? point : last + 1, space - (last == point ? point : last + 1));
}

std::string tick_text(Unit unit, double value) {
  switch (unit) {
    case Unit::kSeconds: return strip_trailing_zeros(format_duration(value));
    case Unit::kBytes: return strip_trailing_zeros(format_byte_size(value));
    case Unit::kBandwidth: return strip_trailing_zeros(format_bandwidth(value));
    case Unit::kPercent: return format_short_number(100 * value) + " %";
    case Unit::kNone: break;
  }
  return format_short_number(value);
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is at least `step`.
double round_up_tick_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * 0.999) return factor * power;
  return 10 * power;
}

/// Returns the largest of 1, 2 or 5 times a power of ten that is at most `value`.
double round_down_tick_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= value * 1.001) return factor * power;
  return power;
}

/// Keeps every n-th tick, counted from the last one, so that at most `count` ticks remain.
void reduce_ticks(std::vector<Tick>& ticks, int count) {
  if (static_cast<int>(ticks.size()) <= count || count < 1) return;
  const size_t step = (ticks.size() + static_cast<size_t>(count) - 1) / static_cast<size_t>(count);
  std::vector<Tick> kept;
  for (size_t i = (ticks.size() - 1) % step; i < ticks.size(); i += step) kept.push_back(ticks[i]);
  ticks = std::move(kept);
}

}  // namespace

Scale::Scale(const Axis& axis, double low, double high, double from, double to, int count)
    : is_log_(axis.log), low_(low), high_(high), start_position_(from), end_position_(to) {
  if (!std::isfinite(low_)) low_ = 0;
  if (!std::isfinite(high_)) high_ = low_ + 1;
  if (is_log_)
    make_log(axis, count);
  else
    make_linear(axis, count);
  if (axis.tick_values.empty()) return;
  ticks_.clear();
  for (const double tick : axis.tick_values) ticks_.push_back({tick, tick_text(axis.unit, tick)});
  reduce_ticks(ticks_, 2 * count);
}

void Scale::make_linear(const Axis& axis, int count) {
  if (axis.includes_zero) low_ = std::min(low_, 0.0);
  if (high_ <= low_) high_ = low_ + std::max(1e-9, std::abs(low_) * 0.1);
  const AxisUnit unit = choose_unit(axis.unit, std::max(std::abs(low_), std::abs(high_)));
  const double step = round_up_tick_step((high_ - low_) / unit.size / count);
  const double first = std::floor(low_ / unit.size / step + 1e-9), last = std::ceil(high_ / unit.size / step - 1e-9);
  if (!axis.exact_ends) {
    low_ = first * step * unit.size;
    high_ = last * step * unit.size;
  }
  for (double i = first; i <= last + 0.5; ++i) {
    if (axis.exact_ends && (i * step * unit.size > high_ * 1.001 || i * step * unit.size < low_ * 0.999)) continue;
    ticks_.push_back(
        {i * step * unit.size, (i == 0 ? "0" : format_short_number(i * step)) + (i == 0 ? "" : unit.name)});
  }
}

void Scale::make_log(const Axis& axis, int count) {
  if (low_ <= 0) low_ = high_ > 0 ? high_ / 1000 : 1e-3;
  if (high_ <= low_ * 1.01) {
    high_ = low_ * 2;
    low_ /= 2;
  }
  const double base = axis.unit == Unit::kBytes ? 4 : 10;
  // Extends the axis to round numbers at both ends.
  if (axis.tick_values.empty() && high_ / low_ > 20) {
    low_ = base == 4 ? std::exp2(std::floor(std::log2(low_) + 1e-6)) : round_down_tick_step(low_);
    high_ = base == 4 ? std::exp2(std::ceil(std::log2(high_) - 1e-6)) : round_up_tick_step(high_);
  } else {
    low_ /= 1.08;
    high_ *= 1.08;
  }
  const auto add = [&](const std::vector<double>& factors) {
    ticks_.clear();
    for (double power = std::pow(base, std::floor(std::log(low_) / std::log(base)) - 1); power <= high_; power *= base)
      for (const double factor : factors)
        if (factor * power >= low_ * 0.999 && factor * power <= high_ * 1.001)
          ticks_.push_back({factor * power, tick_text(axis.unit, factor * power)});
  };
  add({1});
  if (ticks_.size() < 3) add(base == 4 ? std::vector<double>{1, 2} : std::vector<double>{1, 2, 5});
  if (ticks_.size() < 3 && base == 10) add({1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9});
  reduce_ticks(ticks_, count + 1);
}

double Scale::operator()(double value) const {
  const double part = is_log_ ? std::log(std::max(value, low_ * 1e-6) / low_) / std::log(high_ / low_)
                              : (value - low_) / (high_ - low_);
  return start_position_ +
         (end_position_ - start_position_) * (std::isfinite(part) ? std::clamp(part, -0.02, 1.02) : 0);
}

std::string format_coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string format_x(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out + "%";
}

double text_width(const std::string& text) { return 0.6 * kChartFontSize * static_cast<double>(character_count(text)); }

std::string truncate_text(const std::string& text, double width) {
  const auto max_characters = static_cast<size_t>(std::max(1.0, width / (0.53 * kChartFontSize)));
  size_t characters = 0, end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;  // skips continuation bytes of UTF-8
    if (characters == max_characters - 1) end = i;
    ++characters;
  }
  return escape_html(characters <= max_characters ? text : text.substr(0, end) + "…");
}

std::string fill_class(int style) {
  if (style == kWaitingStyle) return "fw";
  if (style == kOtherStyle) return "fu";
  if (style == kFadedStyle) return "fh";
  if (style >= kPublishedStyle) return "fo";
  if (style >= kLineStyle) return str_cat("f", style % 10);
  return str_cat(style >= kStripedStyle ? "h" : "p", style % 10 % 8);
}
std::string stroke_class(int style) {
  return style >= kPublishedStyle ? "so" : style >= kLineStyle ? str_cat("s", style % 10) : "s0";
}

std::string marker(int style, const std::string& x, double y, double size, const std::string& tooltip) {
  const std::string title = tooltip.empty() ? "" : "<title>" + escape_html(tooltip) + "</title>";
  const std::string begin = str_cat(" class=\"", fill_class(style), " m\"");
  const auto px = format_coordinate;
  const int shape = style >= kPublishedStyle ? style % 4 : (style % 10 + style % 100 / 10) % 4;
  if (shape == 0)
    return str_cat("<circle", begin, " cx=\"", x, "\" cy=\"", px(y), "\" r=\"", px(size), "\">", title, "</circle>");
  std::string path;  // around (0, 0)
  if (shape == 1)
    path = str_cat("M", px(-0.9 * size), " ", px(-0.9 * size), "h", px(1.8 * size), "v", px(1.8 * size), "h",
                   px(-1.8 * size));
  if (shape == 2)
    path = str_cat("M0 ", px(-1.2 * size), "L", px(1.15 * size), " ", px(0.85 * size), "H", px(-1.15 * size));
  if (shape == 3)
    path = str_cat("M0 ", px(-1.3 * size), "L", px(1.3 * size), " 0L0 ", px(1.3 * size), "L", px(-1.3 * size), " 0");
  return str_cat("<svg x=\"", x, "\" y=\"", px(y), "\"><path", begin, " d=\"", path, "Z\">", title, "</path></svg>");
}

std::string figure(const std::string& title, const std::string& note, const std::string& description,
                   const PlotArea& area, const std::string& picture, const std::string& legend,
                   const std::string& kind) {
  return str_cat("<figure class=\"chart", kind.empty() ? "" : " ", kind, "\">\n<figcaption>", escape_html(title),
                 note.empty() ? "" : "<small>" + escape_html(note) + "</small>",
                 "</figcaption>\n<div class=\"box\"><div "
                 "class=\"plot\" style=\"padding:0 ",
                 format_coordinate(area.right), "px 0 ", format_coordinate(area.left), "px\"><svg height=\"",
                 format_coordinate(area.height), "\" role=\"img\" aria-label=\"",
                 escape_html(title + ". " + description), "\">\n", picture, "</svg></div></div>\n",
                 legend.empty() ? "" : "<ul class=\"legend\">" + legend + "</ul>\n", "</figure>\n");
}

std::string legend_entry(const std::string& name, int style, char mark) {
  std::string picture;
  if (mark == 'h')
    picture = str_cat("<circle class=\"", stroke_class(style), " hollow\" cx=\"11\" cy=\"6\" r=\"3.4\"/>");
  else if (mark == 'm')
    picture = marker(style, "11", 6, 3.6, "");
  else if (mark == 'b')
    picture = str_cat("<rect class=\"", fill_class(style), " seg\" x=\"3\" y=\"1\" width=\"16\" height=\"10\"/>");
  else
    picture = str_cat("<line class=\"", stroke_class(style), " l", mark == 'd' ? " dash" : "",
                      "\" x1=\"0\" x2=\"22\" y1=\"6\" y2=\"6\"/>", mark == 'l' ? marker(style, "11", 6, 3.6, "") : "");
  return str_cat("<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">", picture, "</svg>",
                 escape_html(name), "</li>");
}

}  // namespace tandem::tools::page
