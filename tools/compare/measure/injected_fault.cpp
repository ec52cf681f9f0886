// Implements parse_fault, which parses the description of a fault, and Slowdown, which slows down the operations of
// one rank or device.
#include "tandem/tools/compare/measure/injected_fault.h"

#include <chrono>
#include <sstream>
#include <thread>

#include "tandem/core/tensor.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {
namespace {

[[noreturn]] void throw_invalid_fault(const std::string& text) {
  TANDEM_FAIL("compare: --plant is '", text, "'; accepted: none, compute:RANK:SECONDS, input:SECONDS, ",
              "slow:RANK:FACTOR, link:RANK:SECONDS, memory:RANK:BYTES:PHASE, fail:RANK");
}

/// Throws if a fault of kind "memory" names a phase that no step has.
void check_phase(const std::string& text, const std::string& phase) {
  std::string known;
  for (const std::string& each : kPhases) {
    if (each == "exposed communication") continue;  // nothing is allocated while a rank waits
    if (each == phase) return;
    known += (known.empty() ? "" : ", ") + each;
  }
  TANDEM_FAIL("compare: --plant is '", text, "', but there is no phase '", phase, "'; accepted: ", known);
}

/// Returns whether an operation copies data between `device` and another device.
bool copies_to_or_from(const KernelCall& call, Device device) {
  if (call.reads.empty() || call.writes.empty()) return false;
  const Device from = call.reads[0]->device(), to = call.writes[0]->device();
  return from != to && (from == device || to == device);
}
/// Returns whether an operation sums data of several ranks in an all-reduce. Such operations run on the collectives'
/// thread, which has no current phase.
bool sums_over_ranks(const KernelCall& call, const char* phase) { return call.op == std::string("combine") && !phase; }

}  // namespace

double sleep_for(double seconds) {
  const double start = trace_clock_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return trace_clock_seconds() - start;
}

InjectedFault parse_fault(const std::string& text) {
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
      throw_invalid_fault(text);
    }
    if (end != parts[i].size() || !(value >= 0 && value <= 1e15)) throw_invalid_fault(text);
    return value;
  };
  const auto matches = [&](const char* kind, size_t count) { return parts[0] == kind && parts.size() == count; };
  InjectedFault fault;
  if (matches("compute", 3)) {
    fault.kind = InjectedFault::Kind::compute;
    fault.seconds = number(2);
  } else if (matches("input", 2)) {
    fault.kind = InjectedFault::Kind::input;
    fault.seconds = number(1);
    return fault;
  } else if (matches("slow", 3)) {
    fault.kind = InjectedFault::Kind::slow;
    fault.factor = number(2);
    if (fault.factor < 1) throw_invalid_fault(text);
  } else if (matches("link", 3)) {
    fault.kind = InjectedFault::Kind::link;
    fault.seconds = number(2);
  } else if (matches("fail", 2)) {
    fault.kind = InjectedFault::Kind::fail;
  } else if (matches("memory", 4)) {
    fault.kind = InjectedFault::Kind::memory;
    fault.bytes = static_cast<int64_t>(number(2));
    fault.phase = parts[3];
    check_phase(text, fault.phase);
  } else {
    throw_invalid_fault(text);
  }
  fault.target = static_cast<int>(number(1));
  return fault;
}

std::string str(const InjectedFault& fault) {
  std::ostringstream out;
  out.precision(17);
  switch (fault.kind) {
    case InjectedFault::Kind::none: return "none";
    case InjectedFault::Kind::compute: out << "compute:" << fault.target << ":" << fault.seconds; break;
    case InjectedFault::Kind::input: out << "input:" << fault.seconds; break;
    case InjectedFault::Kind::slow: out << "slow:" << fault.target << ":" << fault.factor; break;
    case InjectedFault::Kind::link: out << "link:" << fault.target << ":" << fault.seconds; break;
    case InjectedFault::Kind::fail: out << "fail:" << fault.target; break;
    case InjectedFault::Kind::memory:
      out << "memory:" << fault.target << ":" << fault.bytes << ":" << fault.phase;
      break;
  }
  return out.str();
}

void Slowdown::on_kernel_call(const KernelCall& call) {
  const char* const phase = current_phase();
  if (fault_.kind == InjectedFault::Kind::link) {
    const bool here = between_ranks_ ? sums_over_ranks(call, phase) : copies_to_or_from(call, device_);
    if (here && !delayed_.exchange(true)) slept_seconds_ += sleep_for(fault_.seconds);
    return pass_to_outer(call);
  }
  if (!(call.device == device_) || !phase) return pass_to_outer(call);
  if (fault_.kind == InjectedFault::Kind::compute) {
    if (std::string(phase) == "forward" && !delayed_.exchange(true)) slept_seconds_ += sleep_for(fault_.seconds);
    return pass_to_outer(call);
  }
  // Uses CPU time, because wall time includes the time in which other programs use the core.
  const double start = thread_cpu_seconds();
  pass_to_outer(call);
  // A sleep takes about 60 us too long, or more on a busy machine. The excess is subtracted from the next sleep, and
  // sleeps shorter than kMinSleep are accumulated.
  constexpr double kMinSleep = 2e-4;
  sleep_debt_ += (fault_.factor - 1) * (thread_cpu_seconds() - start);
  const double sleep_debt = sleep_debt_;
  if (sleep_debt < kMinSleep) return;
  sleep_debt_ -= sleep_for(sleep_debt);
  slept_seconds_ += sleep_debt;
}

}  // namespace tandem::tools::compare
