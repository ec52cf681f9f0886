// Tables of a trace: by operation, by module and by phase. Times are in nanoseconds.
#pragma once
#include "tandem/tools/trace/call_tree.h"

namespace tandem::tools::trace {

/// All calls of an operation, or of a kernel that no operation in the trace contains. The kernels of an operation count
/// as its own time; operations that it contains have rows of their own.
struct OpRow {
  std::string name, shapes;
  int64_t num_calls = 0;
  int64_t self_time = 0;   // time that is not spent in nested operations
  int64_t total_time = 0;  // time including nested operations
  int64_t gpu_time = 0;    // GPU time of the operation's own kernels
  int64_t bytes = 0;
  double flops = 0;
  std::vector<OpRow> kernels;  // kernels of the operation, longest first; empty if the row is a kernel
};
/// All calls of a module, and the nodes of backward that its forward recorded.
struct ModuleRow {
  std::string path;
  int64_t num_calls = 0;
  int64_t self_time = 0;              // time of forward and backward, without nested modules
  int64_t forward = 0, backward = 0;  // times including nested modules
  int64_t gpu_time = 0;               // GPU time, without nested modules
  int64_t bytes = 0;                  // without other modules
  int64_t total_time() const { return forward + backward; }
};
/// A phase of the program: one that Tandem marks, "forward" for modules outside of all phases, or a TraceSpan of the
/// program itself.
struct PhaseRow {
  std::string name;
  bool is_span = false;
  int64_t num_calls = 0;
  int64_t self_time = 0;  // time that is not spent in nested phases
  int64_t total_time = 0, gpu_time = 0;
};
/// Name of the row for operations in no phase.
inline constexpr const char* kNoPhase = "(no phase)";

/// Return the rows of a tree, sorted by self time, or by GPU time if a GPU worked; the longest first.
std::vector<OpRow> op_rows(const CallTree& tree);
std::vector<ModuleRow> module_rows(const CallTree& tree);
std::vector<PhaseRow> phase_rows(const CallTree& tree);

/// Explains the name of a kernel, or of an operation, that is not a name of the API. Returns null for other names.
const char* explain_name(const std::string& name);
/// Returns the explanations of the names in these rows: "store_words: stores ...".
std::vector<std::string> explain_names(const std::vector<OpRow>& rows, bool with_kernels);
/// Returns sentences about the whole trace: its wall time, and the time in which nothing was recorded.
std::vector<std::string> describe_coverage(const CallTree& tree);

/// Formats the three tables as text of about 100 columns. @param with_kernels  whether the kernels of an operation are
/// listed below it
std::string format_tables(const CallTree& tree, bool with_kernels);

}  // namespace tandem::tools::trace
