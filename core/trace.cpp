#include "tandem/core/trace.h"

#include <chrono>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "tandem/core/dispatch.h"

namespace tandem {
namespace {

struct Event {
  std::string name, details;
  int thread, device;
  double start, end;  // microseconds
};
struct Recorder {
  std::mutex mutex;
  std::vector<Event> events;
};
Recorder& recorder() {
  static Recorder r;
  return r;
}

double now() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}
int thread_number() {
  static std::atomic<int> next{0};
  thread_local const int mine = next++;
  return mine;
}
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}
void file(Event event) {
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  r.events.push_back(std::move(event));
}

}  // namespace

void start_trace() {
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  r.events.clear();
  detail::dispatch_observed = true;
}

void stop_trace(const std::string& path) {
  detail::dispatch_observed = false;
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  std::ofstream out(path, std::ios::trunc);
  out.precision(15);
  out << "{\"traceEvents\": [\n";
  const char* separator = "";
  for (const Event& e : r.events) {
    out << separator << "{\"ph\": \"X\", \"name\": " << quoted(e.name) << ", \"pid\": " << e.device
        << ", \"tid\": " << e.thread << ", \"ts\": " << e.start << ", \"dur\": " << e.end - e.start << ", \"args\": {"
        << e.details << "}}";
    separator = ",\n";
  }
  out << "\n]}\n";
  out.close();
  TANDEM_CHECK(out, "stop_trace: cannot write ", path);
  r.events.clear();
}

TraceSpan::TraceSpan(std::string name) : name_(std::move(name)), start_(now()) {}
TraceSpan::~TraceSpan() {
  if (detail::dispatch_observed) file({std::move(name_), "", thread_number(), 0, start_, now()});
}

namespace detail {

void observed_dispatch(const DispatchedCall& call) {
  std::ostringstream details;
  int64_t bytes = 0;
  details << "\"tensors\": \"";
  for (int i = 0; i < call.tensor_count; ++i) {
    const Tensor& t = *call.tensors[i];
    details << (i ? " " : "") << t.dtype() << t.sizes();
    bytes += t.nbytes();
  }
  details << "\", \"bytes\": " << bytes << ", \"device\": " << quoted(call.device.str());
  const double start = now();
  call.invoke(call.closure);
  file({call.op, details.str(), thread_number(), call.device.index(), start, now()});
}

void throw_built_without_cuda(const char* op) {
  TANDEM_FAIL(op, ": the tensors are on a CUDA device, but this build is without CUDA; accepted: CPU tensors");
}

}  // namespace detail
}  // namespace tandem
