// The tables and the page of `tandem trace`: traces built by hand give known rows, random ones add up, and a training
// program's modules, backward and phases are found.
#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "tandem/core/trace/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/tools/check_nesting.h"
#include "tandem/tools/page/flame_graph.h"
#include "tandem/tools/trace/page.h"
#include "tandem/tools/trace/trace.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::tools::trace;

namespace {

Event make_event(const char* kind, const std::string& name, int64_t start, int64_t end, int thread = 0) {
  Event event;
  event.kind = kind, event.name = name, event.start = start, event.end = end, event.thread = thread;
  return event;
}
Event backward_node(const std::string& name, const std::string& module, int64_t start, int64_t end) {
  Event event = make_event("op", name, start, end);
  event.module = module;
  return event;
}
Event kernel(const std::string& name, int64_t start, int64_t end, int64_t bytes = 0, int thread = 0) {
  Event event = make_event("kernel", name, start, end, thread);
  event.bytes = bytes;
  return event;
}
/// A step of a net with two layers. In the order of a trace: by start.
std::vector<Event> step_of_net() {
  return {make_event("module", "Net", 0, 100),
          make_event("module", "Net.norm", 10, 50),
          make_event("op", "batch_norm", 12, 40),
          kernel("batch_norm_stats", 13, 23, 1000),
          kernel("batch_norm_apply", 25, 38, 2000),
          kernel("relu", 60, 70, 400),
          make_event("phase", "backward", 100, 200),
          backward_node("relu backward", "Net", 110, 130),
          kernel("mul", 112, 128, 40),
          backward_node("batch_norm backward", "Net.norm", 130, 180),
          kernel("batch_norm_backward", 135, 175, 7),
          backward_node("AccumulateGrad", "Net.norm", 180, 190),
          make_event("phase", "optimizer", 205, 250),
          make_event("op", "SGD.step", 206, 249),
          kernel("sgd", 210, 240, 11),
          kernel("relu", 260, 270, 4)};
}

const OpRow& find_op(const std::vector<OpRow>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OpRow& row) { return row.name == name; });
  if (found == rows.end()) FAIL("no row of " << name);
  return *found;
}
const ModuleRow& find_module(const std::vector<ModuleRow>& rows, const std::string& path) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ModuleRow& row) { return row.path == path; });
  if (found == rows.end()) FAIL("no row of " << path);
  return *found;
}
const PhaseRow& find_phase(const std::vector<PhaseRow>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PhaseRow& row) { return row.name == name; });
  if (found == rows.end()) FAIL("no row of " << name);
  return *found;
}
int64_t sum_self_times_outside_operations(const Frame& frame) {
  const bool is_op = frame.kind == Frame::Kind::operation || frame.kind == Frame::Kind::kernel;
  int64_t time = is_op || frame.kind == Frame::Kind::root ? 0 : frame.self_time();
  for (const auto& each : frame.children) time += sum_self_times_outside_operations(*each);
  return time;
}

/// Adds random events between `start` and `end`, nested up to five deep.
void add_random_events(std::vector<Event>& events, std::mt19937& random, int64_t start, int64_t end, int thread,
                       int depth) {
  static const char* const kKinds[] = {"module", "op", "phase", "span", "kernel"};
  for (int64_t at = start; depth < 5 && at < end;) {
    const auto draw = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint32_t>(below)); };
    const int64_t from = std::min(end, at + draw(20)), to = std::min(end, from + draw(200));
    const char* const kind = kKinds[random() % 5];
    const std::string name = std::string(kind) + std::to_string(random() % 3);
    events.push_back(make_event(kind, name, from, to, thread));
    if (kind == std::string("op") && random() % 2) events.back().module = "module0.part" + std::to_string(random() % 2);
    if (kind != std::string("kernel")) add_random_events(events, random, from, to, thread, depth + 1);
    at = to + 1;
  }
}

struct NetImpl : nn::Cloneable<NetImpl> {
  nn::Sequential features{nullptr};
  nn::Linear head{nullptr};
  NetImpl() { reset(); }
  void reset() override {
    features = register_module("features", nn::Sequential(nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 128)));
    head = register_module("head", nn::Linear(128, 10));
  }
  Tensor forward(const Tensor& x) { return head(features(x).relu()); }
};
TANDEM_MODULE(Net);

/// Events of `f`, as `tandem trace` reads them.
std::vector<Event> record_events(const std::function<void()>& f) {
  const TemporaryFolder folder;
  start_trace();
  f();
  stop_trace(folder / "trace.json");
  std::vector<Event> events;
  std::vector<std::string> lines;
  read_trace(folder / "trace.json", 0, events, lines);
  return events;
}
std::vector<Event> trace_training(int steps) {
  Net net;
  const Tensor x = ones({32, 64}), target = zeros({32}, kInt64);
  optim::Adam optimizer(net->parameters());
  return record_events([&] {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      nn::functional::cross_entropy(net(x), target).backward();
      optimizer.step();
    }
  });
}

}  // namespace

TEST_CASE("a trace built by hand gives the known table of operations", "[trace]") {
  const CallTree tree(step_of_net());
  CHECK(tree.wall_time() == 270);
  CHECK(tree.uncovered_time() == 15);  // from 200 to 205 and from 250 to 260
  const std::vector<OpRow> rows = op_rows(tree);
  std::vector<std::string> names;
  for (const OpRow& row : rows) names.push_back(row.name);
  CHECK(names == std::vector<std::string>{"batch_norm backward", "SGD.step", "batch_norm", "relu", "relu backward",
                                          "AccumulateGrad"});
  const OpRow& norm = find_op(rows, "batch_norm");
  CHECK(norm.num_calls == 1);
  CHECK(norm.self_time == 28);
  CHECK(norm.total_time == 28);
  CHECK(norm.bytes == 3000);
  REQUIRE(norm.kernels.size() == 2);  // folded, longest first
  CHECK(norm.kernels[0].name == "batch_norm_apply");
  CHECK(norm.kernels[0].self_time == 13);
  CHECK(norm.kernels[1].self_time == 10);
  const OpRow& relu = find_op(rows, "relu");
  CHECK(relu.num_calls == 2);
  CHECK(relu.self_time == 20);
  CHECK(relu.bytes == 404);
  CHECK(find_op(rows, "batch_norm backward").self_time == 50);
  const std::string folded = format_tables(tree, false), unfolded = format_tables(tree, true);
  CHECK_THAT(folded, Contains("operation                          calls     self  share    total  share"));
  CHECK_THAT(folded, !Contains("batch_norm_stats"));
  CHECK_THAT(unfolded, Contains("    batch_norm_stats                   1  10.0 ns   3.7%"));
  CHECK_THAT(unfolded, Contains("batch_norm_stats: mean and deviation of each channel"));
  CHECK_THAT(folded, Contains("Nothing was recorded for 15.0 ns (5.6 % of the wall time)"));
}

TEST_CASE("each name of a kernel is public, ends with _backward, or is explained", "[trace]") {
  const std::string source = std::string(kFixtures) + "/../..", begin = "TANDEM_DECLARE_KERNEL(void ";
  const std::string listed = read_file(source + "/ci/public_names.txt");
  int kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source + "/kernels")) {
    if (entry.path().extension() != ".h") continue;
    const std::string header = read_file(entry.path().string());
    for (size_t at = header.find(begin); at != std::string::npos; at = header.find(begin, at + 1)) {
      const size_t name_at = at + begin.size();
      const std::string name = header.substr(name_at, header.find('(', name_at) - name_at);
      const bool is_public = listed.find("::" + name + "\n") != std::string::npos;
      CAPTURE(name);
      CHECK((is_public || name.ends_with("_backward") || explain_name(name)));
      ++kernels;
    }
  }
  CHECK(kernels > 40);
  CHECK(explain_name("matmul") == nullptr);
}

TEST_CASE("a module's row holds its calls, and the nodes of backward that its forward recorded", "[trace]") {
  const std::vector<ModuleRow> rows = module_rows(CallTree(step_of_net()));
  REQUIRE(rows.size() == 2);
  const ModuleRow &net = find_module(rows, "Net"), &norm = find_module(rows, "Net.norm");
  CHECK(norm.num_calls == 1);
  CHECK(norm.forward == 40);
  CHECK(norm.backward == 60);  // its node, and the accumulation of its gradient
  CHECK(norm.self_time == 100);
  CHECK(norm.bytes == 3007);
  CHECK(net.num_calls == 1);
  CHECK(net.forward == 100);
  CHECK(net.backward == 80);
  CHECK(net.self_time == 60 + 20);
  CHECK(net.self_time + norm.self_time == net.total_time());
  CHECK(net.bytes == 440);
}

TEST_CASE("phases are forward, backward, optimizer, the program's spans, and what lies in none", "[trace]") {
  std::vector<Event> events = step_of_net();
  events.insert(events.begin(), make_event("span", "step", 0, 255));
  const std::vector<PhaseRow> rows = phase_rows(CallTree(events));
  CHECK(find_phase(rows, "forward").total_time == 100);
  CHECK(find_phase(rows, "backward").total_time == 100);
  CHECK(find_phase(rows, "optimizer").self_time == 45);
  CHECK(find_phase(rows, kNoPhase).total_time == 10);
  const PhaseRow& step = find_phase(rows, "step");
  CHECK(step.is_span);
  CHECK(step.total_time == 255);
  CHECK(step.self_time == 10);  // from 200 to 205 and from 250 to 255
}

TEST_CASE("a phase inside an operation of backward, as of DDP's reducer, does not count as the operation's",
          "[trace]") {
  const std::vector<Event> events = {make_event("phase", "backward", 0, 100),
                                     backward_node("AccumulateGrad", "", 10, 90), make_event("phase", "reduce", 20, 80),
                                     kernel("copy", 30, 70)};
  const CallTree tree(events);
  CHECK(find_op(op_rows(tree), "AccumulateGrad").self_time == 20);
  CHECK(find_op(op_rows(tree), "copy").self_time == 40);
  CHECK(find_phase(phase_rows(tree), "reduce").self_time == 60);
  CHECK(find_phase(phase_rows(tree), "backward").self_time == 40);
  CHECK(find_phase(phase_rows(tree), "backward").total_time == 100);
}

TEST_CASE("input shapes tell calls of an operation apart if asked to", "[trace]") {
  std::vector<Event> events = {make_event("op", "batch_norm", 0, 10), kernel("batch_norm_stats", 1, 9),
                               make_event("op", "batch_norm", 20, 40), kernel("batch_norm_stats", 21, 39),
                               kernel("relu", 50, 51)};
  events[1].reads = "float32(2, 3)", events[3].reads = "float32(9, 3)", events[4].reads = "float32(5,)";
  CHECK(op_rows(CallTree(events)).size() == 2);
  const std::vector<OpRow> rows = op_rows(CallTree(events, /*with_shapes=*/true));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].shapes == "float32(9, 3)");
  CHECK(rows[0].self_time == 20);
  CHECK(rows[1].shapes == "float32(2, 3)");
  CHECK(rows[2].shapes == "float32(5,)");
  CHECK_THAT(format_tables(CallTree(events, true), false), Contains("    reads float32(9, 3)\n"));
}

TEST_CASE("the time of a GPU goes to the operation and the module that launched the work", "[trace]") {
  std::vector<Event> events = step_of_net();
  for (Event& event : events)
    if (event.name == "batch_norm_apply") event.correlation_id = 5;
  Event work = make_event("gpu", "batch_norm_apply", 300, 900);
  work.stream = 1, work.correlation_id = 5, work.device = "cuda:0", work.category = "kernel";
  events.push_back(work);
  work.correlation_id = 99, work.name = "of an earlier call", work.end = 301;
  events.push_back(work);
  const CallTree tree(events);
  CHECK(op_rows(tree)[0].name == "batch_norm");  // the GPU's time sorts first
  CHECK(op_rows(tree)[0].gpu_time == 600);
  CHECK(op_rows(tree)[0].self_time == 28);
  CHECK(find_module(module_rows(tree), "Net.norm").gpu_time == 600);
  CHECK(find_module(module_rows(tree), "Net").gpu_time == 0);
  CHECK(find_phase(phase_rows(tree), "forward").gpu_time == 600);
  CHECK(find_op(op_rows(tree), "of an earlier call").gpu_time == 1);
  CHECK(tree.root().gpu_total_time() == 601);
  CHECK_THAT(format_tables(tree, false), Contains("on GPU"));
}

TEST_CASE("self times add up exactly to the totals, whatever the nesting", "[trace]") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Event> events;
    for (int thread = 0; thread < 3; ++thread) add_random_events(events, random, 0, 2000, thread, 0);
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.start < b.start; });
    const CallTree tree(events, trial % 2 == 0);
    int64_t ops = 0, modules = 0, top_modules = 0;
    for (const OpRow& row : op_rows(tree)) {
      ops += row.self_time;
      CHECK(row.self_time >= 0);
      CHECK(row.total_time >= row.self_time);
    }
    CHECK(ops + sum_self_times_outside_operations(tree.root()) == tree.root().total_time);
    for (const ModuleRow& row : module_rows(tree)) modules += row.self_time;
    const std::function<void(const Frame&)> add_top_modules = [&](const Frame& frame) {
      if (frame.kind == Frame::Kind::module) return void(top_modules += frame.total_time);
      for (const auto& each : frame.children) add_top_modules(*each);
    };
    add_top_modules(tree.root());
    CHECK(modules == top_modules);
    CHECK(tree.uncovered_time() >= 0);
    CHECK(tree.uncovered_time() < tree.wall_time());
  }
}

TEST_CASE("training is traced by module, in forward and in backward", "[trace]") {
  const std::vector<Event> events = trace_training(2);
  std::set<std::string> paths;
  std::map<std::string, std::set<std::string>> nodes;
  for (const Event& event : events) {
    if (event.kind == "module") paths.insert(event.name);
    if (!event.module.empty()) nodes[event.module].insert(event.name);
  }
  CHECK(paths ==
        std::set<std::string>{"Net", "Net.features", "Net.features.0", "Net.features.1", "Net.features.2", "Net.head"});
  CHECK(nodes["Net"] == std::set<std::string>{"relu backward"});
  CHECK(nodes["Net.features.1"] == std::set<std::string>{"relu backward"});
  CHECK(nodes["Net.head"].count("AccumulateGrad") == 1);
  CHECK(nodes["Net.head"].size() >= 2);
  CHECK(nodes.count("Net.features") == 0);  // it runs no operation of its own
  const CallTree tree(events);
  const std::vector<ModuleRow> rows = module_rows(tree);
  const ModuleRow &net = find_module(rows, "Net"), &features = find_module(rows, "Net.features"),
                  &head = find_module(rows, "Net.head");
  CHECK(net.num_calls == 2);
  CHECK(head.backward > 0);
  CHECK(features.backward > 0);
  int64_t sum = 0;
  for (const ModuleRow& row : rows) sum += row.self_time;
  CHECK(sum == net.total_time());
  const std::vector<OpRow> ops = op_rows(tree);
  CHECK(find_op(ops, "Adam.step").num_calls == 2);
  CHECK(find_op(ops, "cross_entropy").num_calls == 2);
  CHECK(find_op(ops, "cross_entropy backward").num_calls == 2);
  for (const OpRow& row : ops)
    CHECK_FALSE((row.name == "add_to_all" || row.name == "store_words" || row.name == "adam"));
  CHECK(find_phase(phase_rows(tree), "forward").num_calls == 2);
  CHECK(find_phase(phase_rows(tree), "backward").num_calls == 2);
  CHECK(find_phase(phase_rows(tree), "optimizer").num_calls == 2);
}

TEST_CASE("a trace covers at least nine tenths of a training step", "[trace]") {
  // Layers as wide as those of small real networks. Only zero_grad and the end of the graph are outside of modules,
  // phases and operations, which is far less than a tenth of a step. Other programs may take the core just then, so the
  // first of a hundred steps without that decides.
  nn::Sequential net(nn::Linear(256, 1024), nn::ReLU(), nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 10));
  const Tensor x = ones({64, 256}), target = zeros({64}, kInt64);
  optim::Adam optimizer(net->parameters());
  const auto train = [&] {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net(x), target).backward();
    optimizer.step();
  };
  train();  // allocates gradients and the optimizer's state
  double least = 1;
  for (int i = 0; i < 100 && least > 0.1; ++i) {
    const CallTree tree(record_events(train));
    least = std::min(least, static_cast<double>(tree.uncovered_time()) / static_cast<double>(tree.wall_time()));
  }
  CHECK(least <= 0.1);
}

TEST_CASE("modules of a Sequential that are computed in one pass have one call", "[trace]") {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU(),
                     nn::MaxPool2d(2));
  const Tensor x = ones({2, 3, 8, 8}).contiguous(MemoryFormat::ChannelsLast);
  std::set<std::string> paths;
  for (const Event& event : record_events([&] { net(x); }))
    if (event.kind == "module") paths.insert(event.name);
  CHECK((paths == std::set<std::string>{"Sequential", "Sequential.0", "Sequential.1-3"} ||
         paths == std::set<std::string>{"Sequential", "Sequential.0", "Sequential.1", "Sequential.2", "Sequential.3"}));
}

TEST_CASE("second derivatives belong to the module of the first forward", "[trace]") {
  nn::Linear layer(4, 4);
  const Tensor x = ones({2, 4}).requires_grad_();
  std::set<std::string> modules;
  const std::vector<Event> events = record_events([&] {
    const Tensor y = layer(x).tanh().sum();
    const Tensor dx = autograd::grad({y}, {x}, {}, true, /*create_graph=*/true)[0];
    dx.square().sum().backward();
  });
  int64_t nodes = 0;
  for (const Event& event : events) nodes += event.module == "Linear" && event.kind == "op";
  CHECK(nodes >= 4);  // the product in the first backward, and the products of its gradient in the second
}

TEST_CASE("a trace of phases alone records no modules and no operations", "[trace]") {
  Net net;
  start_trace(/*kernels=*/false);
  CHECK_FALSE(tandem::detail::is_any_trace_recording_kernels());
  net(ones({1, 64})).sum().backward();
  std::set<std::string> names;
  for (const TraceEvent& event : take_trace()) names.insert(event.name);
  CHECK(names == std::set<std::string>{"backward"});
  CHECK(tandem::detail::current_module_frame == nullptr);
  start_trace();
  CHECK(tandem::detail::is_any_trace_recording_kernels());
  take_trace();
  CHECK_FALSE(tandem::detail::is_any_trace_recording_kernels());
}

TEST_CASE("an exception in a module ends its call in the trace", "[trace]") {
  Net net;
  std::multiset<std::string> paths;
  for (const Event& event : record_events([&] {
         CHECK_THROWS(net(ones({1, 63})));
         net->head(ones({1, 128}));
       }))
    if (event.kind == "module") paths.insert(event.name);
  // The second call is outside of Net, so it has the name of its class.
  CHECK(paths == std::multiset<std::string>{"Linear", "Net", "Net.features", "Net.features.0"});
  CHECK(tandem::detail::current_module_frame == nullptr);
}

TEST_CASE("a flame graph's boxes are as wide as their values, and escaped", "[trace]") {
  namespace page = tools::page;
  page::FlameGraph graph;
  graph.title = "time", graph.description = "by stack";
  graph.root = {.name = "all", .style = 0, .value = 1000, .tooltip = "the root", .children = {}};
  graph.root.children.push_back({.name = "<b>", .style = 1, .value = 250, .tooltip = "a & b", .children = {}});
  graph.root.children.push_back({.name = "second", .style = 2, .value = 500, .tooltip = "half", .children = {}});
  graph.root.children.push_back({.name = "thin", .style = 2, .value = 0.1, .tooltip = "too narrow", .children = {}});
  const std::string svg = page::render_svg(graph);
  CHECK_THAT(svg, Contains("<title>the root</title><rect class=\"p0 seg\" x=\"0%\" y=\"1.0\" width=\"100%\""));
  CHECK_THAT(svg, Contains("<title>a &amp; b</title><rect class=\"p1 seg\" x=\"0%\" y=\"19.0\" width=\"25%\""));
  CHECK_THAT(svg, Contains("<title>half</title><rect class=\"p2 seg\" x=\"25%\" y=\"19.0\" width=\"50%\""));
  CHECK_THAT(svg, Contains("&lt;b&gt;") && !Contains("<b>") && !Contains("too narrow"));
  graph.root.value = 0;
  CHECK(page::render_svg(graph).empty());
}

TEST_CASE("the page of a trace has a flame graph and the tables, and no script or request", "[trace]") {
  std::vector<Event> events = trace_training(1);
  events.push_back(make_event("span", "<script>alert(1)</script>", events[0].start - 100, events[0].start - 50));
  const CallTree tree(events);
  const std::string page = render_html({"./train --lr <1>", tree, compute_gpu_utilization(events), 12});
  CHECK(check_nesting(page) == "");
  for (const char* const request :
       {"http:", "https:", "src=", "@import", "<script", "<link", "<iframe", "<object", " onload=", "\"nan"}) {
    INFO(request);
    CHECK(page.find(request) == std::string::npos);
  }
  for (size_t at = page.find("url("); at != std::string::npos; at = page.find("url(", at + 1))
    CHECK(page.compare(at, 7, "url(#st") == 0);  // a pattern of the page itself
  const auto has = [&](const std::string& text) { return page.find(text) != std::string::npos; };
  for (const char* const id : {"flame", "modules", "operations", "phases"})
    CHECK(has("<section id=\"" + std::string(id) + "\""));
  CHECK(has("./train --lr &lt;1&gt;"));
  CHECK(has("Net.features.0"));
  CHECK(has("<title>Net.features.0 in backward: "));
  CHECK(has("12 later events are left out"));
  CHECK(has(describe_coverage(tree)[1]));
  // Each module and operation has its row, and each frame wide enough its box.
  for (const ModuleRow& row : module_rows(tree)) CHECK(has("<th scope=\"row\">" + row.path + "</th>"));
  for (const OpRow& row : op_rows(tree)) CHECK(has("<th scope=\"row\">" + row.name + "</th>"));
}
