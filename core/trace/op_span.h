// Scopes of a trace: calls of modules, and operations that run several kernels. A trace nests them by their times.
// Internal. Has no dependencies, because the header of every module includes it.
#pragma once
#include <atomic>
#include <string>
#include <type_traits>
#include <utility>

namespace tandem::detail {

/// Number of running traces, on all threads, that record kernel calls. They record modules and operations too.
inline constinit std::atomic<int> num_kernel_traces{0};
inline bool is_any_trace_recording_kernels() { return num_kernel_traces.load(std::memory_order_relaxed) > 0; }

/// A module whose forward this thread is running, or whose nodes it is running in backward.
struct ModuleFrame {
  const void* module;         // address of the module; null in backward
  std::string path;           // such as "Net.conv1"
  const ModuleFrame* caller;  // the module that called this one; null if there is none
};
/// Innermost module of this thread. Null if there is none, and on a thread without a trace of kernel calls.
inline constinit thread_local const ModuleFrame* current_module_frame = nullptr;

/// Marks an operation of this thread in the trace, from construction to destruction. The kernels that it runs, and
/// their internal names, then count as parts of the operation. Without a trace it costs only a branch.
class OpSpan {
 public:
  explicit OpSpan(const char* name) {
    if (is_any_trace_recording_kernels()) [[unlikely]]
      begin(name, nullptr);
  }
  /// @param make_name  function that returns the name, called only during a trace
  template <class MakeName>
  requires std::is_invocable_v<const MakeName&>
  explicit OpSpan(const MakeName& make_name) {
    if (is_any_trace_recording_kernels()) [[unlikely]]
      begin(make_name(), nullptr);
  }
  /// For a node of backward. @param module  path of the module whose forward recorded the node; "" if there is none
  OpSpan(std::string name, const std::string& module) { begin(std::move(name), &module); }
  ~OpSpan() {
    if (open_span_) [[unlikely]]
      end();
  }
  OpSpan(const OpSpan&) = delete;

 private:
  struct OpenSpan;
  void begin(std::string name, const std::string* module);
  void end();
  OpenSpan* open_span_ = nullptr;
};

}  // namespace tandem::detail
