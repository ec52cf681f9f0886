// Computes the rows of the tables of a trace.
#include "tandem/tools/trace/tables.h"

#include <algorithm>

namespace tandem::tools::trace {
namespace {

using Kind = Frame::Kind;

template <class Row> std::vector<Row> sorted_rows(std::vector<Row> rows) {
  const bool by_gpu = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.gpu_time > 0; });
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return by_gpu && a.gpu_time != b.gpu_time ? a.gpu_time > b.gpu_time : a.self_time > b.self_time;
  });
  return rows;
}
template <class Key, class Row> std::vector<Row> make_sorted_rows(std::map<Key, Row> by_key) {
  std::vector<Row> rows;
  rows.reserve(by_key.size());
  for (auto& [key, row] : by_key) rows.push_back(std::move(row));
  return sorted_rows(std::move(rows));
}

/// Whether a frame above this one, of the same kind, has the same name, so that it contains this frame's total.
bool is_recursive(const Frame& frame) {
  for (const Frame* above = frame.parent; above; above = above->parent)
    if (above->kind == frame.kind && above->name == frame.name && above->shapes == frame.shapes &&
        above->backward == frame.backward)
      return true;
  return false;
}
/// Returns the sum of total_time over the frames below `frame` for which `starts` is true. Does not search below such a
/// frame.
template <class Starts> int64_t sum_nearest(const Frame& frame, const Starts& starts) {
  int64_t time = 0;
  for (const auto& each : frame.children) time += starts(*each) ? each->total_time : sum_nearest(*each, starts);
  return time;
}
/// Adds the GPU times and the bytes of `frame` and of the frames below it to `row`. Does not descend
/// into frames for which `starts` is true.
template <class Row, class Starts> void add_gpu_time_and_bytes(Row& row, const Frame& frame, const Starts& starts) {
  row.gpu_time += frame.gpu_time;
  if constexpr (requires { row.bytes; })
    if (frame.kind == Kind::kernel && frame.parent->kind != Kind::kernel) row.bytes += frame.bytes;
  for (const auto& each : frame.children)
    if (!starts(*each)) add_gpu_time_and_bytes(row, *each, starts);
}

struct OpTotals {
  OpRow row;
  std::map<std::string, OpRow> kernels;
};
/// Adds a kernel, with the kernels that it runs, to the row of its operation.
void add_kernel(OpRow& row, const Frame& kernel) {
  row.self_time += kernel.self_time();
  row.gpu_time += kernel.gpu_time;
  if (kernel.parent->kind != Kind::kernel) row.bytes += kernel.bytes, row.flops += kernel.flops;
  for (const auto& each : kernel.children)
    if (each->kind == Kind::kernel) add_kernel(row, *each);
}
void add_op(std::map<std::pair<std::string, std::string>, OpTotals>& all, const Frame& frame) {
  OpTotals& totals = all[{frame.name, frame.shapes}];
  OpRow& row = totals.row;
  row.name = frame.name, row.shapes = frame.shapes;
  row.num_calls += frame.num_calls;
  if (!is_recursive(frame)) row.total_time += frame.total_time;
  if (frame.kind == Kind::kernel) return add_kernel(row, frame);
  row.self_time += frame.self_time();
  row.gpu_time += frame.gpu_time;
  const int64_t bytes = row.bytes;
  for (const auto& each : frame.children) {
    if (each->kind != Kind::kernel) continue;
    add_kernel(row, *each);
    OpRow& kernel = totals.kernels[each->name];
    kernel.name = each->name;
    kernel.num_calls += each->num_calls;
    kernel.total_time += each->total_time;
    add_kernel(kernel, *each);
  }
  if (frame.bytes > 0) row.bytes = bytes + frame.bytes;  // the event of a collective or a copy contains the bytes moved
}
void collect_ops(std::map<std::pair<std::string, std::string>, OpTotals>& all, const Frame& frame) {
  const bool is_folded =
      frame.kind == Kind::kernel && (frame.parent->kind == Kind::operation || frame.parent->kind == Kind::kernel);
  if (frame.kind == Kind::operation || (frame.kind == Kind::kernel && !is_folded)) add_op(all, frame);
  for (const auto& each : frame.children) collect_ops(all, *each);
}

bool is_module(const Frame& frame) { return frame.kind == Kind::module; }
void collect_modules(std::map<std::string, ModuleRow>& all, const Frame& frame) {
  if (is_module(frame)) {
    ModuleRow& row = all[frame.name];
    row.path = frame.name;
    row.num_calls += frame.num_calls;
    row.self_time += frame.total_time - sum_nearest(frame, is_module);
    if (!is_recursive(frame)) (frame.backward ? row.backward : row.forward) += frame.total_time;
    add_gpu_time_and_bytes(row, frame, is_module);
  }
  for (const auto& each : frame.children) collect_modules(all, *each);
}

/// Returns the name of the phase that begins with this frame; "" if the frame begins no phase.
std::string phase_of(const Frame& frame) {
  if (frame.kind == Kind::phase || frame.kind == Kind::span) return frame.name;
  if (!is_module(frame) && frame.kind != Kind::operation && frame.kind != Kind::kernel) return "";
  bool is_in_span = false;
  for (const Frame* above = frame.parent; above; above = above->parent) {
    if (above->kind == Kind::phase || is_module(*above)) return "";
    if (above->kind == Kind::operation || above->kind == Kind::kernel) return "";
    is_in_span |= above->kind == Kind::span;
  }
  return is_module(frame) ? "forward" : is_in_span ? "" : kNoPhase;
}
bool begins_phase(const Frame& frame) { return !phase_of(frame).empty(); }
void collect_phases(std::map<std::pair<std::string, bool>, PhaseRow>& all, const Frame& frame) {
  if (const std::string name = phase_of(frame); !name.empty()) {
    const bool is_span = frame.kind == Kind::span;
    PhaseRow& row = all[{name, is_span}];
    row.name = name, row.is_span = is_span;
    row.num_calls += frame.num_calls;
    row.self_time += frame.total_time - sum_nearest(frame, begins_phase);
    bool is_inside = false;  // of the same phase
    for (const Frame* above = frame.parent; above; above = above->parent) is_inside |= phase_of(*above) == name;
    if (!is_inside) row.total_time += frame.total_time;
    add_gpu_time_and_bytes(row, frame, begins_phase);
  }
  for (const auto& each : frame.children) collect_phases(all, *each);
}

}  // namespace

std::vector<OpRow> op_rows(const CallTree& tree) {
  std::map<std::pair<std::string, std::string>, OpTotals> all;
  collect_ops(all, tree.root());
  std::vector<OpRow> rows;
  for (auto& [key, totals] : all) {
    for (auto& [name, kernel] : totals.kernels) totals.row.kernels.push_back(std::move(kernel));
    totals.row.kernels = sorted_rows(std::move(totals.row.kernels));
    rows.push_back(std::move(totals.row));
  }
  return sorted_rows(std::move(rows));
}
std::vector<ModuleRow> module_rows(const CallTree& tree) {
  std::map<std::string, ModuleRow> all;
  collect_modules(all, tree.root());
  return make_sorted_rows(std::move(all));
}
std::vector<PhaseRow> phase_rows(const CallTree& tree) {
  std::map<std::pair<std::string, bool>, PhaseRow> all;
  collect_phases(all, tree.root());
  return make_sorted_rows(std::move(all));
}

}  // namespace tandem::tools::trace
