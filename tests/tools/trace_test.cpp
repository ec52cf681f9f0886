// Tests `tandem trace`: the table of a trace against counts by hand, and the command on programs of every kind.
#include "tandem/tools/trace/trace.h"

#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "tandem/core/trace/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/trace/page.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::trace;
using nlohmann::json;

namespace {

/// Returns the events that `f` causes.
std::vector<Event> trace_to_events(const std::function<void()>& f) {
  const TemporaryFolder folder;
  start_trace();
  f();
  stop_trace(folder / "trace.json");
  std::vector<Event> events;
  std::vector<std::string> lines;
  read_trace(folder / "trace.json", 0, events, lines);
  return events;
}
/// The row of an operation, or of a kernel of any operation.
OpRow find_row(const std::vector<OpRow>& rows, const std::string& name) {
  for (const OpRow& row : rows) {
    if (row.name == name) return row;
    for (const OpRow& kernel : row.kernels)
      if (kernel.name == name) return kernel;
  }
  FAIL("no row of " << name);
  return {};
}
Event gpu_work(const char* name, const char* category, int64_t start, int64_t end) {
  Event event;
  event.name = name, event.kind = "gpu", event.category = category, event.device = "cuda:0", event.stream = 1;
  event.start = start, event.end = end;
  return event;
}
Result trace_program(const std::string& out, std::vector<std::string> more) {
  more.insert(more.begin(), {"trace", "--out", out});
  return run_program(kCommand, more);
}

}  // namespace

TEST_CASE("the table of a trace has the counts, bytes and operations that were run", "[trace]") {
  const Tensor a = ones({2, 8, 16}), b = ones({2, 16, 4}), x = ones({3, 6, 10, 10}), bias = ones({4});
  const Tensor w = ones({4, 3, 3, 3}).requires_grad_();  // 4 output channels in 2 groups with 3 input channels each
  const CallTree tree(trace_to_events([&] {
    bmm(a, b);
    bmm(a, b);
    const auto options = nn::functional::Conv2dFuncOptions().groups(2);
    nn::functional::conv2d(x, w, nn::functional::Conv2dFuncOptions(options).bias(bias)).sum().backward();
    const Tensor last = x.contiguous(MemoryFormat::ChannelsLast), learned = bias.clone().requires_grad_();
    nn::functional::conv2d(last, w, nn::functional::Conv2dFuncOptions(options).bias(learned)).sum().backward();
  }));
  const std::vector<OpRow> table = op_rows(tree);
  INFO(format_tables(tree, true));
  const OpRow products = find_row(table, "matmul");
  CHECK(products.num_calls == 2);
  CHECK(products.flops == 2 * 2 * (2 * 8 * 4 * 16));
  CHECK(products.bytes == 2 * 4 * (2 * 8 * 16 + 2 * 16 * 4 + 2 * 8 * 4));
  CHECK(products.self_time > 0);
  const double convolution = 2.0 * (3 * 4 * 8 * 8) * (3 * 3 * 3);  // outputs times products per output
  CHECK(find_row(table, "conv2d").flops == 2 * convolution);
  CHECK(find_row(table, "conv2d_backward_weight").flops == convolution);
  CHECK(find_row(table, "conv2d_backward_weight_and_bias").flops == convolution);
  CHECK(find_row(table, "sum").flops == 0);
  // The kernels of a node of backward count as the node's.
  CHECK(find_row(table, "conv2d backward").flops >= 2 * convolution);
}

TEST_CASE("sizes of a trace's tensors are read, and what are none refused", "[trace]") {
  CHECK(parse_sizes("float32(2, 3) float32(3,) int64()") == std::vector<Sizes>{{2, 3}, {3}, {}});
  CHECK(parse_sizes("").empty());
  for (const char* const bad : {"float32(2, 3", "float32(x)", "float32(-1,)"})
    CHECK_THROWS_WITH(parse_sizes(bad), Contains("trace: the sizes '" + std::string(bad)));
  CHECK(estimate_flops("conv2d_backward_input", {{3, 4, 8, 8}, {4, 3, 3, 3}}, {{3, 6, 10, 10}}) ==
        2.0 * 3 * 4 * 8 * 8 * 27);
  CHECK(estimate_flops("matmul", {{2, 2}}, {}) == 0);
}

TEST_CASE("a GPU is busy while any of its streams is, and computes while any kernel runs", "[trace]") {
  // Kernels from 0 to 2 and from 1 to 3; a copy from 2.5 to 4, alone from 3 on; nothing until a kernel from 6 to 7.
  constexpr int64_t kSecond = 1'000'000'000;
  const std::map<std::string, GpuUtilization> all =
      compute_gpu_utilization({gpu_work("a", "kernel", 0, 2 * kSecond), gpu_work("b", "kernel", kSecond, 3 * kSecond),
                               gpu_work("Memcpy HtoD", "gpu_memcpy", 5 * kSecond / 2, 4 * kSecond),
                               gpu_work("a", "kernel", 6 * kSecond, 7 * kSecond)});
  REQUIRE(all.size() == 1);
  const GpuUtilization busy = all.at("cuda:0");
  CHECK(busy.compute == 4);
  CHECK(busy.non_compute == 1);
  CHECK(busy.idle == 2);
  CHECK_THAT(describe_gpu("cuda:0", busy),
             Contains("cuda:0: 7.00 s from its first work to its last; computing 57.1 %"));
}

TEST_CASE("tandem trace gives any program a trace and a table, with all its threads and processes", "[trace]") {
  const TemporaryFolder folder;
  const auto demo = [&](const char* mode) {
    return std::vector<std::string>{kCommand,
                                    "compare",
                                    "--quick",
                                    "--model",
                                    "mlp",
                                    "--devices",
                                    "2",
                                    "--device",
                                    "cpu",
                                    "--backend",
                                    std::string(mode).substr(4),
                                    "--mode",
                                    mode,
                                    "--repeats",
                                    "1",
                                    "--seconds",
                                    "0.001",
                                    "--out",
                                    folder / "report"};
  };
  for (const char* const mode : {"ddp_local", "ddp_gloo"}) {
    if (std::string(mode) == "ddp_gloo" && !distributed::is_gloo_available()) continue;
    CAPTURE(mode);
    std::vector<std::string> arguments = {"--json", folder / "table.json", "--report", folder / "page.html", "--"};
    for (const std::string& word : demo(mode)) arguments.push_back(word);
    const Result result = trace_program(folder / "trace.json", arguments);
    CAPTURE(result.output);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.output, Contains("matmul") && Contains("the trace, for Perfetto") &&
                                  Contains("the page, for a browser: " + folder / "page.html"));
    CHECK_THAT(read_file(folder / "page.html"), Contains("<title>optimizer: "));
    const json trace = json::parse(read_file(folder / "trace.json"));
    std::set<int> processes, threads;
    bool reduces = false;
    for (const json& event : trace["traceEvents"]) {
      if (event.at("ph") == "M") continue;  // metadata: the name of a process or thread
      processes.insert(event.at("pid").get<int>());
      threads.insert(event.at("tid").get<int>());
      reduces = reduces || event.at("cat") == "communication";
    }
    CHECK(reduces);
    CHECK(threads.size() > 2);
    CHECK((processes.size() > 2) == (std::string(mode) == "ddp_gloo"));
    const json table = json::parse(read_file(folder / "table.json"));
    bool has_products = false, has_layers = false;
    for (const json& row : table["operations"])
      if (row["operation"] == "matmul") has_products = row["count"] > 10 && row["flops"] > 1e6;
    CHECK(has_products);
    for (const json& row : table["modules"])
      has_layers |= row["module"].get<std::string>().find('.') != std::string::npos && row["forward_seconds"] > 0 &&
                    row["backward_seconds"] > 0;
    CHECK(has_layers);
    CHECK(table["wall_seconds"] > table["uncovered_seconds"]);
  }
}

TEST_CASE("a trace of processes names their ranks, whoever launched them", "[trace]") {
  if (!distributed::is_gloo_available()) {
    WARN("SKIPPED: built without Gloo");
    return;
  }
  const TemporaryFolder folder;
  const int port = free_port();
  // Set the variables of Open MPI's mpirun, which sets no RANK. Rank 1 starts first, so the order of files differs from
  // the order of ranks.
  const std::string program = kLaunchProgram;
  const std::string ranks = "export OMPI_COMM_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) +
                            "; OMPI_COMM_WORLD_RANK=1 " + program + " & sleep .2; OMPI_COMM_WORLD_RANK=0 " + program +
                            " && wait $!";
  const Result result = trace_program(folder / "trace.json", {"--", "/bin/sh", "-c", ranks});
  CAPTURE(result.output);
  REQUIRE(result.status == 0);
  std::set<std::string> names;
  const json trace = json::parse(read_file(folder / "trace.json"));
  for (const json& event : trace["traceEvents"])
    if (event.at("name") == "process_name") names.insert(event["args"]["name"]);
  CHECK(names == std::set<std::string>{"rank 0", "rank 1"});
}

TEST_CASE("tandem trace passes the program's end on, and says what it cannot trace", "[trace]") {
  const TemporaryFolder folder;
  const std::string out = folder / "trace.json";
  const Result none = trace_program(out, {"--", "/bin/true"});
  CHECK(none.status == 1);
  CHECK_THAT(none.output, Contains("/bin/true wrote no trace; accepted: a program that uses Tandem"));
  CHECK(trace_program(out, {"--", "/bin/sh", "-c", "exit 7"}).status == 7);
  const Result killed = trace_program(out, {"--", "/bin/sh", "-c", "kill -9 $$"});
  CHECK(killed.status == 137);
  CHECK_THAT(killed.output, Contains("was ended by signal 9"));
  const Result missing = trace_program(out, {"--", "/no/such/program"});
  CHECK(missing.status == 127);
  CHECK_THAT(missing.output, Contains("cannot start /no/such/program: No such file"));
  for (const std::string& place : {folder / "no/such/trace.json", folder.path()}) {
    const Result result = trace_program(place, {"--", "/bin/sh", "-c", "echo ran"});
    CHECK(result.status == 2);
    CHECK_THAT(result.output, Contains("--out " + place + " cannot be written") && !Contains("ran\n"));
  }
  CHECK(trace_program(out, {}).status != 0);
  CHECK(folder.count() == 0);
}

TEST_CASE("a tracer gives its marks to the one around it, and keeps no more than it may", "[trace]") {
  const auto names = [](const std::vector<TraceEvent>& events) {
    std::vector<std::string> out;
    for (const TraceEvent& e : events) out.push_back(e.name);
    return out;
  };
  const auto outer = std::make_shared<detail::Tracer>(true);
  detail::Tracer inner(true, outer);
  inner.add_event({.name = "mark"});
  CHECK(names(inner.stop()) == std::vector<std::string>{"mark"});
  inner.add_event({.name = "after its end"});
  CHECK(names(outer->stop()) == std::vector<std::string>{"mark", "after its end"});
  detail::Tracer small(true, nullptr, /*max_events=*/1);
  small.add_event({.name = "kept"});
  small.add_event({.name = "counted"});
  CHECK(small.num_dropped_events() == 1);
  CHECK(names(small.stop()) == std::vector<std::string>{"kept"});
}

TEST_CASE("tandem trace says how many events of its processes are left out", "[trace]") {
  const TemporaryFolder folder;
  const auto traced = [&](size_t most) {
    for (const char* const process : {"1", "2"}) {
      detail::Tracer tracer(true, nullptr, most);
      for (const char* const name : {"first", "second", "third"}) tracer.add_event({.name = name});
      detail::write_process_trace(folder / process, tracer, 3);
    }
    // Traces a program that moves these files to the folder where the command expects the traces of its processes.
    return trace_program(folder / "trace",
                         {"--", "/bin/sh", "-c", "mv " + (folder / "[12].*") + " $TANDEM_TRACE_FOLDER"});
  };
  const Result whole = traced(3);
  REQUIRE(whole.status == 0);
  CHECK_THAT(whole.output, !Contains("left out"));
  CHECK_THAT(read_file(folder / "trace"), Contains("third"));
  const Result cut = traced(1);
  REQUIRE(cut.status == 0);
  CHECK_THAT(cut.output, Contains("4 later events are left out"));
  CHECK_THAT(read_file(folder / "trace"), Contains("first") && !Contains("second"));
  detail::Tracer none(true);
  detail::write_process_trace(folder / "none", none, 0);
  CHECK(folder.count() == 1);
}
