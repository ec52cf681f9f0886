// Records where in the program each node was made, and describes the place in errors of backward.
#include "tandem/autograd/anomaly_mode.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <sstream>

#include "tandem/core/internal.h"
#include "tandem/core/trace/op_span.h"

namespace tandem::autograd {
namespace {

thread_local const std::string* current_parent_name = nullptr;
thread_local const std::shared_ptr<const AnomalyMetadata>* current_parent_metadata = nullptr;
constexpr size_t kMaxStackFrames = 48, kMaxStackFramesShown = 16;

/// Returns the name of the calling function, for example "f(int) in program", or the offset in the program if the
/// function has no symbol.
std::string describe_frame(void* return_address) {
  // An address in the call instruction. If the call ends its function, the return address is already in the next
  // function.
  void* const address = static_cast<char*>(return_address) - 1;
  Dl_info info;
  std::ostringstream out;
  if (!dladdr(address, &info)) {
    out << address;
    return out.str();
  }
  if (info.dli_sname) {
    int status = 0;
    char* const text = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    out << (status == 0 ? text : info.dli_sname);
    std::free(text);
  } else {
    out << "+0x" << std::hex << static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  }
  if (info.dli_fname) out << " in " << info.dli_fname;
  return out.str();
}
/// Whether a stack frame is autograd's own, which does not help to find the program's error.
bool is_internal_frame(const std::string& call) {
  return call.find("tandem::autograd::Node::Node") != std::string::npos ||
         call.find("tandem::autograd::detail::") == 0 || call.find("LambdaNode<") != std::string::npos;
}

}  // namespace

std::shared_ptr<const AnomalyMetadata> detail::capture_anomaly_metadata() {
  const auto metadata = std::make_shared<AnomalyMetadata>();
  if (current_module_frame) metadata->module_path = current_module_frame->path;
  if (!AnomalyMode::is_enabled()) return metadata;
  metadata->stack_frames.resize(kMaxStackFrames);
  metadata->stack_frames.resize(
      static_cast<size_t>(backtrace(metadata->stack_frames.data(), static_cast<int>(kMaxStackFrames))));
  if (current_parent_name) {
    metadata->parent_name = *current_parent_name;
    metadata->parent = *current_parent_metadata;
  }
  return metadata;
}
std::string detail::format_anomaly_metadata(const AnomalyMetadata& metadata) {
  std::string out;
  size_t shown = 0;
  for (void* const call : metadata.stack_frames) {
    const std::string name = describe_frame(call);
    if (shown == 0 && is_internal_frame(name)) continue;
    out += "\n  " + name;
    if (++shown == kMaxStackFramesShown) break;
  }
  // no frame names Tandem: the symbols of a statically linked Tandem are not visible
  if (out.find("tandem::") == std::string::npos) {
    out += "\n(link the program with -rdynamic to see names here, or give the addresses to addr2line -Cfe)";
  }
  if (!metadata.parent_name.empty()) {
    out += "\nin the backward of " + metadata.parent_name;
    if (metadata.parent && !metadata.parent->stack_frames.empty())
      out += ", which was recorded at:" + format_anomaly_metadata(*metadata.parent);
  }
  return out;
}

detail::ParentNodeGuard::ParentNodeGuard(const std::string& name,
                                         const std::shared_ptr<const AnomalyMetadata>& metadata)
    : previous_parent_name_(std::exchange(current_parent_name, &name)),
      previous_parent_metadata_(std::exchange(current_parent_metadata, &metadata)) {}
detail::ParentNodeGuard::~ParentNodeGuard() {
  current_parent_name = previous_parent_name_;
  current_parent_metadata = previous_parent_metadata_;
}

}  // namespace tandem::autograd
