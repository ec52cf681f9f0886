// Implements break_down_steps(): splits each lane's step at the start and end of its events, and attributes each piece
// to a phase, to waiting, or to neither.
#include "tandem/tools/compare/measure/time_breakdown.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tandem::tools::compare {
namespace {

using Kind = TraceEvent::Kind;

/// Name in Lane::waiting_for while DataParallel's first device waits and no device works, because threads are being
/// woken up.
const char* const kThreadWakeupLane = "threads to wake up";
/// Name in Lane::waiting_for while a thread is runnable but no CPU core is free.
const char* const kFreeCoreLane = "a free core";
/// Name in Lane::waiting_for while a process is stopped from outside.
const char* const kEndOfStopLane = "the end of a stop";

/// One collective: its start and end on every rank.
struct Collective {
  std::vector<double> start, end;  // times at which each rank entered and left the collective
  double last_call_time = 0;       // time at which the last rank called the collective
  size_t last_rank = 0;            // rank that called it last
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
      // A collective starts later than it was called if the collective before it still runs. That delay counts as
      // communication, not as lateness of this rank.
      const double called = e.queued > 0 ? e.queued : e.start;
      if (r == 0 || called > out[k].last_call_time) {
        out[k].last_call_time = called;
        out[k].last_rank = r;
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
  /// Returns the seconds of the phase "input" in which threads of the process waited for a core.
  double input_without_core(const Activity& activity) const {
    double seconds = 0;
    for (const TraceEvent* e : phases_) {
      const double start = std::max(e->start, step_.start), end = std::min(e->end, step_.end);
      if (e->name == "input") seconds += std::min(activity.waited_seconds(start, end), end - start);
    }
    return seconds;
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
  if (waited > 0) out.waiting_for[kFreeCoreLane] += waited;
  out.unattributed += to - from - waited;
}

bool is_covered(const std::vector<TimeSpan>& spans, double from, double to) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const TimeSpan& span) { return span.start <= from && span.end >= to; });
}
void add_boundaries(const std::vector<TimeSpan>& spans, StepTimes step, std::set<double>& boundaries) {
  for (const TimeSpan& span : spans)
    for (const double t : {span.start, span.end})
      if (t > step.start && t < step.end) boundaries.insert(t);
}

/// Attributes the time of a DataParallel step, whose lanes are devices of one process. A lane waits while another lane
/// works.
void attribute_dp_step(const std::vector<LaneStep>& lanes, StepTimes step, const std::vector<std::string>& names,
                       const std::vector<TimeSpan>& stops, std::vector<Lane>& out) {
  std::set<double> boundaries{step.start, step.end};
  for (const LaneStep& lane : lanes) lane.add_boundaries(boundaries);
  add_boundaries(stops, step, boundaries);
  for (auto at = boundaries.begin(); std::next(at) != boundaries.end(); ++at) {
    const double from = *at, to = *std::next(at);
    if (is_covered(stops, from, to)) {
      for (Lane& lane : out) lane.waiting_for[kEndOfStopLane] += to - from;
      continue;
    }
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
        out[l].waiting_for[kThreadWakeupLane] += to - from;
      else if (l == 0)
        attribute_gap(lanes[l], from, to, out[l]);
      else
        out[l].waiting_for[names[0]] += to - from;
    }
  }
}

/// All ranks of a DDP job in the same step.
struct RankSteps {
  std::vector<LaneStep> lanes;
  std::vector<StepTimes> steps;
  // activity of each rank's process; one entry if all ranks share a process; empty if unknown
  const std::vector<Activity>& activities;

  const std::vector<TimeSpan>& stops(size_t rank) const {
    static const std::vector<TimeSpan> kNone;
    if (activities.empty()) return kNone;
    return activities[activities.size() == 1 ? 0 : rank].stops;
  }
  bool is_blocked(size_t rank, double from, double to) const {
    const TraceEvent* const phase = lanes[rank].at(from, to);
    return phase && (phase->name == "exposed communication" || phase->name == "wait");
  }
  /// Returns the rank other than `rank` whose process is stopped between `from` and `to`, or the number of ranks.
  size_t find_stopped(size_t rank, double from, double to) const {
    for (size_t r = 0; r < lanes.size(); ++r)
      if (r != rank && is_covered(stops(r), from, to)) return r;
    return lanes.size();
  }
  /// Returns the seconds between `from` and `to`, during which `rank` communicates, in which no rank that communicates
  /// used a core or waited for one. The activity of ranks that compute meanwhile is not known to be communication.
  double link_seconds(size_t rank, double from, double to) const {
    double busy_seconds = activities.size() == 1 ? activities[0].busy_seconds(from, to) : 0;
    for (size_t r = 0; activities.size() > 1 && r < lanes.size(); ++r)
      if (r == rank || is_blocked(r, from, to)) busy_seconds += activities[r].busy_seconds(from, to);
    return std::max(0.0, to - from - busy_seconds);
  }
};

/// Attributes the time of one rank's step under DDP. @param collectives  the collectives that overlap the step
void attribute_rank_step(const RankSteps& all, size_t rank, const std::vector<Collective>& collectives,
                         const std::vector<std::string>& names, Lane& out) {
  const StepTimes step = all.steps[rank];
  std::set<double> boundaries{step.start, step.end};
  for (size_t r = 0; r < all.lanes.size(); ++r) add_boundaries(all.stops(r), step, boundaries);
  all.lanes[rank].add_boundaries(boundaries);
  for (const Collective& c : collectives)
    for (const double t : {c.start[rank], c.last_call_time, c.end[rank]})
      if (t > step.start && t < step.end) boundaries.insert(t);
  for (auto at = boundaries.begin(); std::next(at) != boundaries.end(); ++at) {
    const double from = *at, to = *std::next(at);
    const Collective* active_collective = nullptr;
    for (const Collective& c : collectives)
      if (c.start[rank] <= from && c.end[rank] >= to) active_collective = &c;
    const bool is_transferring = active_collective && from >= active_collective->last_call_time;
    const TraceEvent* const phase = all.lanes[rank].at(from, to);
    const bool is_waiting = all.is_blocked(rank, from, to);
    const size_t stopped = all.find_stopped(rank, from, to);
    if (is_covered(all.stops(rank), from, to))
      out.waiting_for[kEndOfStopLane] += to - from;
    else if (!phase)
      attribute_gap(all.lanes[rank], from, to, out);
    else if (!is_waiting) {
      out.phases[phase->name] += to - from;
      if (is_transferring) out.hidden += to - from;
    } else if (active_collective && !is_transferring)
      out.waiting_for[names[active_collective->last_rank]] += to - from;
    else if (stopped < names.size())
      out.waiting_for[names[stopped]] += to - from;
    else {
      out.phases["exposed communication"] += to - from;
      out.link += all.link_seconds(rank, from, to);
    }
  }
}

}  // namespace

std::vector<std::vector<Lane>> break_down_steps(const std::vector<TraceEvent>& events,
                                                const std::vector<std::vector<StepTimes>>& steps,
                                                const std::vector<std::string>& lane_names,
                                                const std::vector<Activity>& activities) {
  const size_t ranks = steps.size(), lanes = lane_names.size(), count = steps.at(0).size();
  std::vector<std::vector<const TraceEvent*>> calls(ranks);
  for (const TraceEvent& e : events)
    if (e.kind == Kind::communication) calls[static_cast<size_t>(e.rank)].push_back(&e);
  const std::vector<Collective> collectives = match_collectives(calls);
  const auto select_phases = [&](size_t rank, int lane, StepTimes step) {
    std::vector<const TraceEvent*> phases;
    for (const TraceEvent& e : events)
      if (e.kind == Kind::phase && static_cast<size_t>(e.rank) == rank && (lane < 0 || e.lane == lane) &&
          e.end > step.start && e.start < step.end)
        phases.push_back(&e);
    return LaneStep(std::move(phases), step);
  };
  std::vector<std::vector<Lane>> out(count);
  for (size_t k = 0; k < count; ++k) {
    out[k].resize(lanes);
    RankSteps all{{}, {}, activities};
    for (size_t l = 0; l < lanes; ++l) {
      const size_t rank = ranks == 1 ? 0 : l;
      const StepTimes step = steps[rank][k];
      out[k][l].name = lane_names[l];
      out[k][l].step = step.end - step.start;
      out[k][l].without_core = step.without_core;
      all.steps.push_back(step);
      all.lanes.push_back(select_phases(rank, ranks == 1 && lanes > 1 ? static_cast<int>(l) : -1, step));
      if (!activities.empty())
        out[k][l].input_without_core =
            all.lanes.back().input_without_core(activities[activities.size() == 1 ? 0 : rank]);
    }
    if (ranks == 1) {
      // The threads of DataParallel's devices belong to one process, whose waits are not known by thread.
      if (lanes > 1 && !activities.empty())
        for (Lane& lane : out[k])
          lane.without_core =
              activities[0].waited_seconds(steps[0][k].start, steps[0][k].end) / static_cast<double>(lanes);
      attribute_dp_step(all.lanes, steps[0][k], lane_names, all.stops(0), out[k]);
      continue;
    }
    for (size_t r = 0; r < ranks; ++r) {
      std::vector<Collective> overlapping;
      for (const Collective& c : collectives)
        if (c.end[r] > steps[r][k].start && c.start[r] < steps[r][k].end) overlapping.push_back(c);
      attribute_rank_step(all, r, overlapping, lane_names, out[k][r]);
    }
  }
  return out;
}

std::vector<Lane> mean_lanes(const std::vector<std::vector<Lane>>& steps) {
  if (steps.empty()) return {};
  std::vector<Lane> mean(steps[0].size());
  const double share = 1.0 / static_cast<double>(steps.size());
  for (size_t l = 0; l < mean.size(); ++l) {
    Lane& lane = mean[l];
    lane.name = steps[0][l].name;
    for (const std::vector<Lane>& step : steps) {
      for (const auto& [name, seconds] : step[l].phases) lane.phases[name] += seconds;
      for (const auto& [name, seconds] : step[l].waiting_for) lane.waiting_for[name] += seconds;
      lane.step += step[l].step;
      lane.unattributed += step[l].unattributed;
      lane.hidden += step[l].hidden;
      lane.link += step[l].link;
      lane.without_core += step[l].without_core;
      lane.input_without_core += step[l].input_without_core;
    }
    for (auto& [name, seconds] : lane.phases) seconds *= share;
    for (auto& [name, seconds] : lane.waiting_for) seconds *= share;
    for (double* seconds :
         {&lane.step, &lane.unattributed, &lane.hidden, &lane.link, &lane.without_core, &lane.input_without_core})
      *seconds *= share;
  }
  return mean;
}

std::vector<Lane> compute_time_breakdown(const std::vector<TraceEvent>& events,
                                         const std::vector<std::vector<StepTimes>>& steps,
                                         const std::vector<std::string>& lane_names) {
  return mean_lanes(break_down_steps(events, steps, lane_names));
}

std::vector<LaneSteps> list_lane_steps(const std::vector<std::vector<Lane>>& steps) {
  if (steps.empty()) return {};
  std::vector<LaneSteps> out(steps[0].size());
  for (size_t l = 0; l < out.size(); ++l) {
    out[l].name = steps[0][l].name;
    for (size_t k = 0; k < steps.size(); ++k) {
      const auto set = [&](const std::string& what, double seconds) {
        const double rounded = std::round(seconds * 1e6) / 1e6;
        if (rounded == 0) return;
        std::vector<double>& list = out[l].seconds[what];
        list.resize(steps.size());
        list[k] = rounded;
      };
      const Lane& lane = steps[k][l];
      set("step", lane.step);
      for (const auto& [name, seconds] : lane.phases) set(name, seconds);
      for (const auto& [name, seconds] : lane.waiting_for) set("waiting for " + name, seconds);
      set("link", lane.link);
      set("without a core", lane.without_core);
      set("input without a core", lane.input_without_core);
    }
  }
  return out;
}

}  // namespace tandem::tools::compare
