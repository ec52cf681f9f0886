// Tests the trace: the calls and threads that it records, and its file.
#include "tandem/core/trace/trace.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/core/trace/op_span.h"
#include "tandem/ops/ops.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using nlohmann::json;
using test::TemporaryFolder;

namespace {

json events_of(const std::string& path) {
  std::ifstream file(path);
  const json all = json::parse(file);
  json events = json::array();
  for (const json& e : all["traceEvents"])
    if (e["ph"] == "X") events.push_back(e);  // skips the names of processes and threads
  return events;
}
std::vector<std::string> names_of(const json& events) {
  std::vector<std::string> names;
  for (const json& e : events) names.push_back(e["name"]);
  return names;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a trace holds each kernel call with its tensors, and spans around them", "[core][trace]") {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  const Tensor x = ones({2, 3}), y = full({3}, 2.0);
  start_trace();
  {
    const TraceSpan span("an \"epoch\"");
    x.mul(y).sum();
  }
  stop_trace(path);
  x.add(y);
  const json events = events_of(path);
  REQUIRE(names_of(events) == Names{"an \"epoch\"", "mul", "sum"});
  CHECK(events[1]["args"]["reads"] == "float32(2, 3) float32(3,)");
  CHECK(events[1]["args"]["writes"] == "float32(2, 3)");
  CHECK(events[1]["args"]["bytes"] == 4 * (6 + 3 + 6));
  CHECK(events[1]["args"]["device"] == "cpu");
  const auto begin = [&](int i) { return events[i]["ts"].get<double>(); };
  const auto end = [&](int i) { return begin(i) + events[i]["dur"].get<double>(); };
  CHECK(begin(0) <= begin(1));
  CHECK(end(1) <= begin(2) + 1e-3);  // the file stores microseconds with limited digits
  CHECK(end(2) <= end(0) + 1e-3);
}

TEST_CASE("a trace follows to threads that take over the context, and to no others", "[core][trace]") {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  const Tensor x = ones({2});
  start_trace();
  const ThreadContext context = ThreadContext::current();
  std::thread([&] {
    const ThreadContextGuard guard(context);
    x.exp();
  }).join();
  std::thread([&] { x.log(); }).join();
  stop_trace(path);
  CHECK(names_of(events_of(path)) == Names{"exp"});
  std::thread([&] {  // the context still refers to the observer
    const ThreadContextGuard guard(context);
    x.exp();
  })
      .join();
  start_trace();
  x.sin();
  start_trace();
  x.cos();
  stop_trace(path);
  CHECK(names_of(events_of(path)) == Names{"cos"});
  CHECK(!ThreadContext::current().observer);
}

TEST_CASE("a trace has operations around their kernels, and the nodes of backward", "[core][trace]") {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  const Tensor x = ones({2, 3}).requires_grad_();
  start_trace();
  {
    const detail::OpSpan named("an operation");
    const detail::OpSpan lazy([] { return std::string("made by a function"); });
    x.exp();
  }
  x.mul(2).sum().backward();
  stop_trace(path);
  std::map<std::string, json> by_name;
  for (const json& event : events_of(path)) by_name[event["name"]] = event;
  for (const char* const name :
       {"an operation", "made by a function", "sum backward", "mul backward", "AccumulateGrad"}) {
    CAPTURE(name);
    REQUIRE(by_name.count(name) == 1);
    CHECK(by_name[name]["args"]["kind"] == "op");
    CHECK(by_name[name]["cat"] == "cpu_op");
    CHECK(!by_name[name]["args"].contains("module"));  // no module recorded it
  }
  CHECK(by_name["exp"]["args"]["kind"] == "kernel");
  CHECK(by_name["backward"]["args"]["kind"] == "phase");
  const auto contains = [&](const char* outer, const char* inner) {
    const auto start = [&](const char* name) { return by_name[name]["ts"].get<double>(); };
    const auto end = [&](const char* name) { return start(name) + by_name[name]["dur"].get<double>(); };
    return start(outer) <= start(inner) && end(inner) <= end(outer) + 1e-3;  // microseconds with some digits
  };
  CHECK(contains("an operation", "made by a function"));
  CHECK(contains("made by a function", "exp"));
  CHECK(contains("backward", "mul backward"));
}

TEST_CASE("without a trace, an operation makes no name and records nothing", "[core][trace]") {
  bool made = false;
  {
    const detail::OpSpan span([&] { return made = true, std::string(); });
  }
  CHECK(!made);
  start_trace();
  std::thread([] { const detail::OpSpan span("on a thread without the trace"); }).join();
  CHECK(take_trace().empty());
}

TEST_CASE("a trace that cannot be written names the file", "[core][trace]") {
  start_trace();
  REQUIRE_THROWS_WITH(stop_trace("/nowhere/trace.json"), Contains("write_trace: cannot write /nowhere/trace.json"));
}
