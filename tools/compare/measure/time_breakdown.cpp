// Implements compute_time_breakdown(): splits each lane's step at the start and end of its events, and attributes each
// piece to a phase, to waiting, or to neither.
#include "tandem/tools/compare/measure/time_breakdown.h"

#include <algorithm>
#include <set>

namespace tandem::tools::compare {
namespace {

using Kind = TraceEvent::Kind;

/// Pseudo-lane for which the first device waits while no device works, because threads are being woken up.
const char* const kThreadWakeup = "threads to wake up";
/// Pseudo-lane for which a lane waits while its thread is runnable but no core is free.
const char* const kFreeCore = "a free core";

/// One collective: its start and end on every rank.
struct Collective {
  std::vector<double> start, end;  // times at which each rank entered and left the collective
  double all_entered = 0;          // time at which the last rank entered the collective
  size_t last = 0;                 // rank that entered last
};

/// Matches the ranks' events to collectives. The k-th event of each rank belongs to the k-th collective, because all
/// ranks call collectives in the same order.
std::vector<Collective> match_collectives(const std::vector<std::vector<const TraceEvent*>>& by_rank) {
  size_t count = by_rank.empty() ? 0 : by_rank[0].size();
  for (const auto& mine : by_rank) count = std::min(count, mine.size());
  std::vector<Collective> out(count);
  for (size_t k = 0; k < count; ++k)
    for (size_t r = 0; r < by_rank.size(); ++r) {
      const TraceEvent& e = *by_rank[r][k];
      out[k].start.push_back(e.start);
      out[k].end.push_back(e.end);
      if (r == 0 || e.start > out[k].all_entered) {
        out[k].all_entered = e.start;
        out[k].last = r;
      }
    }
  return out;
}

/// One lane within one step.
class LaneStep {
 public:
  LaneStep(std::vector<const TraceEvent*> phases, StepTimes step) : phases_(std::move(phases)), step_(step) {}

  /// Returns the innermost phase that covers the time from `from` to `to`, or null if no phase does.
  const TraceEvent* at(double from, double to) const {
    const TraceEvent* found = nullptr;
    for (const TraceEvent* e : phases_)
      if (e->start <= from && e->end >= to && (!found || e->start >= found->start)) found = e;
    return found;
  }
  bool is_working(double from, double to) const {
    const TraceEvent* const e = at(from, to);
    return e && e->name != "wait";
  }
  bool is_waiting(double from, double to) const {
    const TraceEvent* const e = at(from, to);
    return e && e->name == "wait";
  }
  /// Returns the end of the phase that is running from `from` to `to`.
  double phase_end(double from, double to) const {
    const TraceEvent* const e = at(from, to);
    return e ? e->end : from;
  }
  /// Returns how many of the seconds between `from` and `to`, which lie outside all phases, the thread was runnable but
  /// had no core. CPU time is known only at the end of the previous phase and at the start of the next one; the time
  /// without a core is spread evenly between them.
  double time_without_core(double from, double to) const {
    double start = step_.start, end = step_.end, cpu_start = step_.cpu_start, cpu_end = step_.cpu_end;
    for (const TraceEvent* e : phases_) {
      if (e->end <= from && e->end >= start) {
        start = e->end;
        cpu_start = e->cpu_end;
      }
      if (e->start >= to && e->start <= end) {
        end = e->start;
        cpu_end = e->cpu_start;
      }
    }
    if (cpu_start == 0 || cpu_end == 0) return 0;
    return (to - from) * std::clamp(1 - (cpu_end - cpu_start) / (end - start), 0.0, 1.0);
  }
  void add_boundaries(std::set<double>& boundaries) const {
    for (const TraceEvent* e : phases_)
      for (const double t : {e->start, e->end})
        if (t > step_.start && t < step_.end) boundaries.insert(t);
  }

 private:
  std::vector<const TraceEvent*> phases_;
  StepTimes step_;
};

void attribute_gap(const LaneStep& lane, double from, double to, Lane& out) {
  const double waited = lane.time_without_core(from, to);
  if (waited > 0) out.waiting_for[kFreeCore] += waited;
  out.unattributed += to - from - waited;
}

/// Attributes the time of a DataParallel step, whose lanes are devices of one process. A lane waits while another lane
/// works.
void partition_devices(const std::vector<LaneStep>& lanes, StepTimes step, const std::vector<std::string>& names,
                       std::vector<Lane>& out) {
  std::set<double> boundaries{step.start, step.end};
  for (const LaneStep& lane : lanes) lane.add_boundaries(boundaries);
  for (auto at = boundaries.begin(); std::next(at) != boundaries.end(); ++at) {
    const double from = *at, to = *std::next(at);
    size_t last = lanes.size();  // index of the working lane that finishes last
    for (size_t l = 0; l < lanes.size(); ++l)
      if (lanes[l].is_working(from, to) &&
          (last == lanes.size() || lanes[l].phase_end(from, to) > lanes[last].phase_end(from, to)))
        last = l;
    for (size_t l = 0; l < lanes.size(); ++l) {
      if (lanes[l].is_working(from, to))
        out[l].phases[lanes[l].at(from, to)->name] += to - from;
      else if (last < lanes.size())
        out[l].waiting_for[names[last]] += to - from;
      else if (l == 0 && lanes[l].is_waiting(from, to))
        out[l].waiting_for[kThreadWakeup] += to - from;
      else if (l == 0)
        attribute_gap(lanes[l], from, to, out[l]);
      else
        out[l].waiting_for[names[0]] += to - from;
    }
  }
}

/// Attributes the time of one rank's step under DDP. @param collectives  the collectives that overlap the step
void partition_rank(const LaneStep& lane, size_t rank, StepTimes step, const std::vector<Collective>& collectives,
                    const std::vector<std::string>& names, Lane& out) {
  std::set<double> boundaries{step.start, step.end};
  lane.add_boundaries(boundaries);
  for (const Collective& c : collectives)
    for (const double t : {c.start[rank], c.all_entered, c.end[rank]})
      if (t > step.start && t < step.end) boundaries.insert(t);
  for (auto at = boundaries.begin(); std::next(at) != boundaries.end(); ++at) {
    const double from = *at, to = *std::next(at);
    const Collective* active_collective = nullptr;
    for (const Collective& c : collectives)
      if (c.start[rank] <= from && c.end[rank] >= to) active_collective = &c;
    const bool is_transferring = active_collective && from >= active_collective->all_entered;
    const TraceEvent* const phase = lane.at(from, to);
    const bool is_waiting = phase && (phase->name == "exposed communication" || phase->name == "wait");
    if (is_transferring && !is_waiting) out.hidden += to - from;
    if (!phase)
      attribute_gap(lane, from, to, out);
    else if (is_waiting && active_collective && !is_transferring)
      out.waiting_for[names[active_collective->last]] += to - from;
    else
      out.phases[is_waiting ? "exposed communication" : phase->name] += to - from;
  }
}

}  // namespace

std::vector<Lane> compute_time_breakdown(const std::vector<TraceEvent>& events,
                                         const std::vector<std::vector<StepTimes>>& steps,
                                         const std::vector<std::string>& lane_names) {
  const size_t ranks = steps.size(), lanes = lane_names.size(), count = steps.at(0).size();
  std::vector<Lane> out(lanes);
  for (size_t l = 0; l < lanes; ++l) out[l].name = lane_names[l];
  const auto overlaps = [](const TraceEvent& e, StepTimes s) { return e.end > s.start && e.start < s.end; };
  for (size_t k = 0; k < count; ++k) {
    // Collects the communication events of each rank over all steps. Only those that overlap step k are used below.
    std::vector<std::vector<const TraceEvent*>> collectives(ranks);
    for (const TraceEvent& e : events)
      if (e.kind == Kind::communication) collectives[static_cast<size_t>(e.rank)].push_back(&e);
    const auto select_phases = [&](size_t rank, int lane, StepTimes step) {
      std::vector<const TraceEvent*> phases;
      for (const TraceEvent& e : events)
        if (e.kind == Kind::phase && static_cast<size_t>(e.rank) == rank && (lane < 0 || e.lane == lane) &&
            overlaps(e, step))
          phases.push_back(&e);
      return LaneStep(std::move(phases), step);
    };
    if (ranks == 1) {
      std::vector<LaneStep> device_steps;
      device_steps.reserve(lanes);
      for (size_t l = 0; l < lanes; ++l)
        device_steps.push_back(select_phases(0, lanes == 1 ? -1 : static_cast<int>(l), steps[0][k]));
      partition_devices(device_steps, steps[0][k], lane_names, out);
    } else {
      const std::vector<Collective> all = match_collectives(collectives);
      for (size_t r = 0; r < ranks; ++r) {
        const StepTimes step = steps[r][k];
        std::vector<Collective> overlapping;
        for (const Collective& c : all)
          if (c.end[r] > step.start && c.start[r] < step.end) overlapping.push_back(c);
        partition_rank(select_phases(r, -1, step), r, step, overlapping, lane_names, out[r]);
      }
    }
    for (size_t l = 0; l < lanes; ++l) {
      const StepTimes step = steps[ranks == 1 ? 0 : l][k];
      out[l].step += step.end - step.start;
    }
  }
  const double share = 1.0 / static_cast<double>(std::max<size_t>(count, 1));
  for (Lane& lane : out) {
    for (auto& [name, seconds] : lane.phases) seconds *= share;
    for (auto& [name, seconds] : lane.waiting_for) seconds *= share;
    lane.step *= share;
    lane.unattributed *= share;
    lane.hidden *= share;
  }
  return out;
}

}  // namespace tandem::tools::compare
