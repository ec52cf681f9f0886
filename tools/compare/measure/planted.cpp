// Implements parse_planted, which parses the description of a fault, and Slowdown, which slows down the operations of
// one rank or device.
#include "tandem/tools/compare/measure/planted.h"

#include <chrono>
#include <sstream>
#include <thread>

#include "tandem/core/tensor.h"
#include "tandem/core/trace/tracer.h"

namespace tandem::tools::compare {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  TANDEM_FAIL("compare: --plant is '", text, "'; accepted: none, compute:RANK:SECONDS, input:SECONDS, ",
              "slow:RANK:FACTOR, link:RANK:SECONDS, memory:RANK:BYTES:PHASE, fail:RANK");
}

/// Returns whether an operation copies data between `device` and another device.
bool copies_over(const KernelCall& call, Device device) {
  if (call.reads.empty() || call.writes.empty()) return false;
  const Device from = call.reads[0]->device(), to = call.writes[0]->device();
  return from != to && (from == device || to == device);
}
/// Returns whether an operation sums data of several ranks in an all-reduce. Such operations run on the collectives'
/// thread, which has no current phase.
bool adds_ranks(const KernelCall& call, const char* phase) { return call.op == std::string("combine") && !phase; }

}  // namespace

double sleep_for(double seconds) {
  const double start = trace_clock();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return trace_clock() - start;
}

Planted parse_planted(const std::string& text) {
  if (text.empty() || text == "none") return {};
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
  const auto number = [&](size_t i) {
    size_t end = 0;
    double value = -1;
    try {
      value = std::stod(parts.at(i), &end);
    } catch (const std::exception&) {
      refuse(text);
    }
    if (end != parts[i].size() || !(value >= 0 && value <= 1e15)) refuse(text);
    return value;
  };
  const auto is = [&](const char* kind, size_t count) { return parts[0] == kind && parts.size() == count; };
  Planted planted;
  if (is("compute", 3)) {
    planted.kind = Planted::Kind::compute;
    planted.seconds = number(2);
  } else if (is("input", 2)) {
    planted.kind = Planted::Kind::input;
    planted.seconds = number(1);
    return planted;
  } else if (is("slow", 3)) {
    planted.kind = Planted::Kind::slow;
    planted.factor = number(2);
    if (planted.factor < 1) refuse(text);
  } else if (is("link", 3)) {
    planted.kind = Planted::Kind::link;
    planted.seconds = number(2);
  } else if (is("fail", 2)) {
    planted.kind = Planted::Kind::fail;
  } else if (is("memory", 4)) {
    planted.kind = Planted::Kind::memory;
    planted.bytes = static_cast<int64_t>(number(2));
    planted.phase = parts[3];
  } else {
    refuse(text);
  }
  planted.where = static_cast<int>(number(1));
  return planted;
}

std::string str(const Planted& planted) {
  std::ostringstream out;
  out.precision(17);
  switch (planted.kind) {
    case Planted::Kind::none: return "none";
    case Planted::Kind::compute: out << "compute:" << planted.where << ":" << planted.seconds; break;
    case Planted::Kind::input: out << "input:" << planted.seconds; break;
    case Planted::Kind::slow: out << "slow:" << planted.where << ":" << planted.factor; break;
    case Planted::Kind::link: out << "link:" << planted.where << ":" << planted.seconds; break;
    case Planted::Kind::fail: out << "fail:" << planted.where; break;
    case Planted::Kind::memory:
      out << "memory:" << planted.where << ":" << planted.bytes << ":" << planted.phase;
      break;
  }
  return out.str();
}

void Slowdown::on_call(const KernelCall& call) {
  const char* const phase = current_phase();
  if (planted_.kind == Planted::Kind::link) {
    const bool here = of_ranks_ ? adds_ranks(call, phase) : copies_over(call, device_);
    if (here && !delayed_.exchange(true)) slept_ += sleep_for(planted_.seconds);
    return pass(call);
  }
  if (!(call.device == device_) || !phase) return pass(call);
  if (planted_.kind == Planted::Kind::compute) {
    if (std::string(phase) == "forward" && !delayed_.exchange(true)) slept_ += sleep_for(planted_.seconds);
    return pass(call);
  }
  // Uses CPU time, because wall time includes the time in which other programs use the core.
  const double start = thread_clock();
  pass(call);
  // A sleep takes about 60 us too long, or more on a busy machine. The excess is subtracted from the next sleep, and
  // sleeps shorter than kShortest are accumulated.
  constexpr double kShortest = 2e-4;
  owed_ += (planted_.factor - 1) * (thread_clock() - start);
  const double owed = owed_;
  if (owed < kShortest) return;
  owed_ -= sleep_for(owed);
  slept_ += owed;
}

}  // namespace tandem::tools::compare
