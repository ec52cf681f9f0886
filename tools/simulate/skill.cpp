// Implements check_skill(): fits the model to a part of the recorded data, predicts the rest, and compares the errors
// with those of simple baselines.
#include "tandem/tools/simulate/skill.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "tandem/core/error.h"
#include "tandem/tools/simulate/collectives.h"

namespace tandem::simulate {
namespace {

// All-reduces of at least this many bytes depend on bandwidth rather than on latency.
constexpr double kMinLargeBytes = 64 << 20;

using Rows = std::vector<GptRow>;
using Predict = std::function<double(const GptRow&)>;

Rows filter_rows(const Rows& rows, const std::function<bool(const GptRow&)>& predicate) {
  Rows found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found), predicate);
  return found;
}

/// Returns the q-quantile (q from 0 to 1) of the values, with linear interpolation between neighbours.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at), high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

ErrorStatistics compute_errors(const std::vector<double>& ratios) {
  ErrorStatistics found;
  std::vector<double> errors;
  errors.reserve(ratios.size());
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1));
  found.rows = errors.size();
  found.median = quantile(errors, 0.5);
  found.largest = quantile(errors, 1);
  for (const double error : errors) found.mean += error / static_cast<double>(errors.size());
  return found;
}

std::vector<double> compute_ratios(const Rows& rows, const Predict& predict) {
  std::vector<double> ratios;
  ratios.reserve(rows.size());
  for (const GptRow& row : rows) ratios.push_back(predict(row) / row.seconds);
  return ratios;
}

double step_flops(const GptRow& row) { return row.passes() * gpt_pass_flops(row); }

/// Returns the seconds of the fitted row that is most similar to `row`. Compares the micro-batch first, then the
/// passes, the layers and the GPUs.
double nearest_neighbor_seconds(const Rows& fitted, const GptRow& row) {
  const auto distance = [&](const GptRow& other) {
    const auto apart = [](double a, double b) { return std::abs(std::log(a / b)); };
    return std::tuple(apart(other.micro_batch, row.micro_batch), apart(other.passes(), row.passes()),
                      apart(other.num_layers, row.num_layers), apart(other.num_gpus, row.num_gpus));
  };
  return std::min_element(fitted.begin(), fitted.end(),
                          [&](const GptRow& a, const GptRow& b) { return distance(a) < distance(b); })
      ->seconds;
}

double median_of(const Rows& rows, const Predict& value) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const GptRow& row : rows) values.push_back(value(row));
  return quantile(values, 0.5);
}

/// For each depth and each micro-batch, fits the model to the other rows and predicts the rows with that depth or
/// micro-batch. Returns predicted / recorded for all predicted rows.
std::vector<double> cross_validation_ratios(const Rows& rows, const Link& link) {
  std::set<int> depths;
  std::set<double> micro_batches;
  for (const GptRow& row : rows) {
    depths.insert(row.num_layers);
    micro_batches.insert(row.micro_batch);
  }
  std::vector<double> ratios;
  const auto leave_out = [&](const std::function<bool(const GptRow&)>& left) {
    const GptTimeModel model = fit_gpt_time_model(filter_rows(rows, [&](const GptRow& r) { return !left(r); }), link);
    for (const double ratio :
         compute_ratios(filter_rows(rows, left), [&](const GptRow& r) { return model.seconds(r); }))
      ratios.push_back(ratio);
  };
  for (const int depth : depths) leave_out([=](const GptRow& r) { return r.num_layers == depth; });
  for (const double micro : micro_batches) leave_out([=](const GptRow& r) { return r.micro_batch == micro; });
  return ratios;
}

/// Computes the errors of the model and of three baselines on the rows `rest`. The baselines use the rows `fitted`.
/// @param calibration  a row with a shape that is not in `fitted`; every prediction is scaled so that this row is
/// exact. Null: no scaling
HeldOutErrors evaluate_held_out(const std::string& what, const GptTimeModel& model, const Rows& fitted,
                                const Rows& rest, bool interval, const GptRow* calibration = nullptr) {
  HeldOutErrors found;
  found.what = what;
  const auto scale = [&](const Predict& predict) {
    return calibration ? calibration->seconds / predict(*calibration) : 1;
  };
  const auto errors = [&](const Predict& predict) {
    const double factor = scale(predict);
    return compute_errors(compute_ratios(rest, [&](const GptRow& row) { return factor * predict(row); }));
  };
  const Predict by_model = [&](const GptRow& row) { return model.seconds(row); };
  const double second_per_flop = median_of(fitted, [](const GptRow& row) { return row.seconds / step_flops(row); });
  const double middle = median_of(fitted, [](const GptRow& row) { return row.seconds; });
  found.model = errors(by_model);
  found.flops = errors([&](const GptRow& row) { return second_per_flop * step_flops(row); });
  found.nearest = errors([&](const GptRow& row) { return nearest_neighbor_seconds(fitted, row); });
  found.constant = errors([&](const GptRow&) { return middle; });
  if (!interval) return found;
  // The 90 % interval comes from the model's errors on the fitted rows, where each depth and each micro-batch in turn
  // is left out of the fit.
  const std::vector<double> known = cross_validation_ratios(fitted, model.link);
  const double low = quantile(known, 0.05), high = quantile(known, 0.95), factor = scale(by_model);
  for (const double ratio : compute_ratios(rest, by_model))
    found.interval_coverage +=
        factor * ratio >= low && factor * ratio <= high ? 1.0 / static_cast<double>(rest.size()) : 0;
  return found;
}

bool has_recorded_steps(const LinkPoint& p) { return p.devices == 2 || p.devices == 4 || p.devices == 8; }

/// Returns the all-reduces of at least `min_bytes`, restricted to the numbers of GPUs that occur in the recorded
/// steps (with_rows) or that do not (otherwise).
std::vector<LinkPoint> filter_points(const std::vector<LinkPoint>& points, bool with_rows, double min_bytes) {
  std::vector<LinkPoint> found;
  std::copy_if(points.begin(), points.end(), std::back_inserter(found),
               [&](const LinkPoint& p) { return has_recorded_steps(p) == with_rows && p.bytes >= min_bytes; });
  return found;
}

double ring_seconds(const LinkPoint& p, const Link& link) {
  return all_reduce_seconds(AllReduce::ring, p.bytes, p.devices, link);
}

void check_all_reduces(const std::vector<LinkPoint>& points, Skill& skill) {
  const std::vector<LinkPoint> fitted = filter_points(points, true, 0), rest = filter_points(points, false, 0);
  TANDEM_CHECK(!rest.empty() && !filter_points(points, false, kMinLargeBytes).empty(),
               "simulate: the table of all-reduces has only rows for 2, 4 and 8 GPUs; accepted: a table with other "
               "numbers of GPUs too");
  const auto add = [&](const char* what, const std::function<double(const LinkPoint&)>& predict) {
    std::vector<double> all, large;
    for (const LinkPoint& p : rest) {
      all.push_back(predict(p) / p.seconds);
      if (p.bytes >= kMinLargeBytes) large.push_back(all.back());
    }
    skill.all_reduces.push_back({what, compute_errors(all), compute_errors(large)});
  };
  const Link plain = fit_ring(fitted).link, copies = fit_ring_with_copies(fitted).link;
  const Link large = fit_ring_with_copies(filter_points(points, true, kMinLargeBytes)).link;
  add("ring with copies", [&](const LinkPoint& p) { return ring_seconds(p, copies); });
  add("the same, fitted from 64 MiB on", [&](const LinkPoint& p) { return ring_seconds(p, large); });
  add("ring", [&](const LinkPoint& p) { return ring_seconds(p, plain); });
  add("ring without latency", [&](const LinkPoint& p) { return ring_seconds(p, {0, plain.bandwidth}); });
  add("nearest number of GPUs", [&](const LinkPoint& p) {
    const auto distance = [&](const LinkPoint& o) {
      return std::pair(std::abs(std::log(o.bytes / p.bytes)), std::abs(o.devices - p.devices));
    };
    const auto closer = [&](const LinkPoint& a, const LinkPoint& b) { return distance(a) < distance(b); };
    return std::min_element(fitted.begin(), fitted.end(), closer)->seconds;
  });
}

/// Predicts the overheads on more than two GPUs. Fits the ring to all-reduces over numbers of GPUs that do not occur in
/// the recorded steps. The interval comes from the ring's errors at large sizes. It is applied separately to the two
/// all-reduces whose difference is the overhead, so the interval of the difference is wide.
void check_overheads(const Rows& rows, const std::vector<LinkPoint>& points, Skill& skill) {
  const std::vector<LinkPoint> others = filter_points(points, false, kMinLargeBytes);
  const Link link = fit_ring_with_copies(others).link;
  std::vector<double> known;
  known.reserve(others.size());
  for (const LinkPoint& p : others) known.push_back(p.seconds / ring_seconds(p, link));
  const double low = quantile(known, 0.05), high = quantile(known, 0.95);
  using Shape = std::tuple<int, int, double, double>;  // hidden size, layers, size of micro-batch, passes
  std::map<Shape, const GptRow*> on_two;
  for (const GptRow& row : rows)
    if (row.num_gpus == 2) on_two[{row.hidden_size, row.num_layers, row.micro_batch, row.passes()}] = &row;
  std::map<std::tuple<int, int, int>, std::vector<std::pair<double, const GptRow*>>> differences;
  std::set<std::tuple<int, int, double>> passes;
  for (const GptRow& row : rows) {
    passes.insert({row.hidden_size, row.num_layers, row.micro_batch});
    const auto two = on_two.find({row.hidden_size, row.num_layers, row.micro_batch, row.passes()});
    if (row.num_gpus != 2 && two != on_two.end())
      differences[{row.hidden_size, row.num_layers, row.num_gpus}].push_back(
          {row.seconds - two->second->seconds, two->second});
  }
  std::set<std::pair<int, int>> shapes;
  for (const auto& [key, list] : differences) {
    Overhead o;
    std::tie(o.hidden_size, o.num_layers, o.num_gpus) = key;
    shapes.insert({o.hidden_size, o.num_layers});
    double least = list[0].first, most = list[0].first;
    std::vector<double> parts;
    for (const auto& [difference, row] : list) {
      o.recorded += difference / static_cast<double>(list.size());
      least = std::min(least, difference);
      most = std::max(most, difference);
      parts.push_back(difference / row->seconds);
    }
    skill.additivity = std::max(skill.additivity, most - least);
    o.min_step_fraction = quantile(parts, 0);
    o.max_step_fraction = quantile(parts, 1);
    const double many = gpt_all_reduce_seconds(*list[0].second, o.num_gpus, link),
                 two = gpt_all_reduce_seconds(*list[0].second, 2, link);
    o.predicted = many - two;
    o.low = low * many - high * two;
    o.high = high * many - low * two;
    skill.overheads.push_back(o);
  }
  skill.num_distinct = passes.size() + differences.size() + shapes.size();
}

}  // namespace

Skill check_skill(const std::string& folder, bool intervals) {
  const Rows rows = read_gpt_rows(folder + "/a100_data_parallel.csv");
  const std::vector<LinkPoint> points = read_all_reduces(folder + "/a100_all_reduce.csv");
  std::vector<LinkPoint> large;
  std::copy_if(points.begin(), points.end(), std::back_inserter(large),
               [](const LinkPoint& p) { return p.bytes >= kMinLargeBytes; });
  // Uses only large all-reduces, because the gradients of all recorded steps are large.
  const Link link = fit_ring_with_copies(large).link;
  Skill skill;
  const auto least = [&](const GptRow& a, const GptRow& b) { return a.hidden_size < b.hidden_size; };
  const int narrow = std::min_element(rows.begin(), rows.end(), least)->hidden_size;
  const Rows base = filter_rows(rows, [&](const GptRow& r) { return r.hidden_size == narrow; });
  const Rows wide = filter_rows(rows, [&](const GptRow& r) { return r.hidden_size != narrow; });
  const auto hold_out = [&](const std::string& what, const std::function<bool(const GptRow&)>& held) {
    const Rows fitted = filter_rows(base, [&](const GptRow&r) { return !held(r); }), rest = filter_rows(base, held);
    TANDEM_CHECK(fitted.size() >= 5 && !rest.empty(), "simulate: ", folder, " has ", rest.size(), " rows of ", what,
                 " and ", fitted.size(), " others; accepted: at least one of them, and five others");
    skill.held_out.push_back(evaluate_held_out(what, fit_gpt_time_model(fitted, link), fitted, rest, intervals));
  };
  std::set<int> depths;
  for (const GptRow& row : base) depths.insert(row.num_layers);
  for (const int depth : depths)
    hold_out(std::to_string(depth) + " layers", [=](const GptRow& r) { return r.num_layers == depth; });
  hold_out("8 samples a pass", [](const GptRow& r) { return r.micro_batch == 8; });
  hold_out("8 and 16 passes", [](const GptRow& r) { return r.passes() >= 8; });
  hold_out("4 and 8 GPUs", [](const GptRow& r) { return r.num_gpus != 2; });

  skill.model = fit_gpt_time_model(base, link);
  TANDEM_CHECK(!wide.empty(), "simulate: ", folder,
               " has rows of one width only; accepted: rows of two widths or more");
  const std::string width = "hidden " + std::to_string(wide[0].hidden_size);
  skill.held_out.push_back(evaluate_held_out(width + ", not calibrated", skill.model, base, wide, intervals));
  // Calibrates the model with each row in turn. Does not judge rows with the same micro-batch as the calibrating row,
  // because they are nearly equal to it.
  std::vector<double> medians;
  const GptRow* cheapest = &wide[0];
  for (const GptRow& row : wide) {
    const Rows rest = filter_rows(wide, [&](const GptRow& r) { return r.micro_batch != row.micro_batch; });
    const double factor = row.seconds / skill.model.seconds(row);
    medians.push_back(
        compute_errors(compute_ratios(rest, [&](const GptRow& r) { return factor * skill.model.seconds(r); })).median);
    if (row.num_gpus < cheapest->num_gpus ||
        (row.num_gpus == cheapest->num_gpus && row.global_batch < cheapest->global_batch))
      cheapest = &row;
  }
  const Rows rest = filter_rows(wide, [&](const GptRow& r) { return r.micro_batch != cheapest->micro_batch; });
  skill.held_out.push_back(
      evaluate_held_out(width + ", calibrated by one row", skill.model, base, rest, intervals, cheapest));
  skill.min_calibrated_error = quantile(medians, 0);
  skill.max_calibrated_error = quantile(medians, 1);
  check_all_reduces(points, skill);
  check_overheads(rows, points, skill);
  return skill;
}

}  // namespace tandem::simulate
