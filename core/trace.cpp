#include "tandem/core/trace.h"

#include <chrono>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "tandem/core/observer.h"
#include "tandem/core/tensor.h"

namespace tandem {
namespace {

struct Event {
  std::string name, details;
  int thread, device;
  double start, end;  // microseconds
};
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
void list(std::ostream& out, const char* title, ArrayRef<const Tensor*> tensors) {
  out << quoted(title) << ": \"";
  for (size_t i = 0; i < tensors.size(); ++i) out << (i ? " " : "") << tensors[i]->dtype() << tensors[i]->sizes();
  out << "\", ";
}

/// Takes the time of each call. Contexts that were copied keep it beyond the trace's end: then it only passes on.
class Timer : public Observer {
 public:
  void on_call(const KernelCall& call) override {
    if (!on_) return pass(call);
    std::ostringstream details;
    list(details, "reads", call.reads);
    list(details, "writes", call.writes);
    int64_t bytes = 0;
    for (const auto& tensors : {call.reads, call.writes})
      for (const Tensor* t : tensors) bytes += t->nbytes();
    details << "\"bytes\": " << bytes << ", \"device\": " << quoted(call.device.str());
    const double start = now();
    pass(call);
    add({call.op, details.str(), thread_number(), call.device.index(), start, now()});
  }
  void add(Event event) {
    const std::lock_guard lock(mutex_);
    if (on_) events_.push_back(std::move(event));
  }
  std::vector<Event> stop() {
    const std::lock_guard lock(mutex_);
    on_ = false;
    return std::move(events_);
  }

 private:
  std::atomic<bool> on_{true};
  std::mutex mutex_;
  std::vector<Event> events_;
};

/// What a rank keeps: the trace that is on, or null.
struct Trace : RankPart {
  std::mutex mutex;
  std::shared_ptr<Timer> timer;

  static std::shared_ptr<Timer> exchange(std::shared_ptr<Timer> timer) {
    Trace& mine = RankContext::current().state().part<Trace>();
    const std::lock_guard lock(mine.mutex);
    return std::exchange(mine.timer, std::move(timer));
  }
  static std::shared_ptr<Timer> current() {
    Trace& mine = RankContext::current().state().part<Trace>();
    const std::lock_guard lock(mine.mutex);
    return mine.timer;
  }
};

/// Of the trace that is on; there is none afterwards.
std::vector<Event> end_trace() {
  const std::shared_ptr<Timer> timer = Trace::exchange(nullptr);
  if (!timer) return {};
  std::shared_ptr<Observer>& innermost = RankContext::current().observer;
  if (innermost == timer) innermost = std::shared_ptr(timer->outer());
  return timer->stop();
}

}  // namespace

void start_trace() {
  end_trace();
  const auto timer = std::make_shared<Timer>();
  attach_observer(timer);
  Trace::exchange(timer);
}

void stop_trace(const std::string& path) {
  const std::vector<Event> events = end_trace();
  std::ofstream out(path, std::ios::trunc);
  out.precision(15);
  out << "{\"traceEvents\": [\n";
  const char* separator = "";
  for (const Event& e : events) {
    out << separator << "{\"ph\": \"X\", \"name\": " << quoted(e.name) << ", \"pid\": " << e.device
        << ", \"tid\": " << e.thread << ", \"ts\": " << e.start << ", \"dur\": " << e.end - e.start << ", \"args\": {"
        << e.details << "}}";
    separator = ",\n";
  }
  out << "\n]}\n";
  out.close();
  TANDEM_CHECK(out, "stop_trace: cannot write ", path);
}

TraceSpan::TraceSpan(std::string name) : name_(std::move(name)), start_(now()) {}
TraceSpan::~TraceSpan() {
  if (const auto timer = Trace::current()) timer->add({std::move(name_), "", thread_number(), 0, start_, now()});
}

}  // namespace tandem
