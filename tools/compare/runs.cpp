// Classifies runs by the key of their mode, and formats names of runs.
#include "tandem/tools/compare/runs.h"

#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {

using namespace page;

bool is_ddp(const Run& run) { return run.mode.starts_with("ddp"); }
bool is_dp(const Run& run) { return run.mode.starts_with("dp"); }
bool is_single(const Run& run) { return !is_dp(run) && !is_ddp(run); }
bool computes_loss_in_replicas(const Run& run) { return is_dp(run) && run.mode.find("loss") != std::string::npos; }
std::string job_name(const Run& run) {
  return str_cat(run.model, ", ", pluralize(run.devices, "device"), ", batch ", format_integer(run.batch));
}

std::string format_label(const std::string& label) {
  const size_t comma = label.find(", ");
  const bool has_form = label.starts_with("DP") || label.starts_with("DDP");
  if (!has_form || comma == std::string::npos) return label;
  return label.substr(0, comma) + " (" + label.substr(comma + 2) + ")";
}

std::string format_with_interval(const Interval& interval, const std::string& unit) {
  if (!interval.is_valid())
    return str_cat(format_number(interval.median), unit, " (n = ", interval.n, ": no interval)");
  return str_cat(format_number(interval.median), unit, " (", format_number(interval.low), " to ",
                 format_number(interval.high), ")");
}

}  // namespace tandem::tools::compare
