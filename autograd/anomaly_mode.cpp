// Records where in the program each node was made, and describes the place in errors of backward.
#include "tandem/autograd/anomaly_mode.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <sstream>

#include "tandem/core/internal.h"

namespace tandem::autograd {
namespace {

thread_local const std::string* maker_name = nullptr;
thread_local const std::shared_ptr<const ForwardPlace>* maker_place = nullptr;
constexpr size_t kCalls = 48, kCallsShown = 16;

/// Returns the name of the calling function, for example "f(int) in program", or the offset in the program if the
/// function has no symbol.
std::string call_name(void* return_address) {
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
bool is_bookkeeping(const std::string& call) {
  return call.find("tandem::autograd::Node::Node") != std::string::npos ||
         call.find("tandem::autograd::detail::") == 0 || call.find("LambdaNode<") != std::string::npos;
}

}  // namespace

std::shared_ptr<const ForwardPlace> detail::current_place() {
  const auto place = std::make_shared<ForwardPlace>();
  place->calls.resize(kCalls);
  place->calls.resize(static_cast<size_t>(backtrace(place->calls.data(), static_cast<int>(kCalls))));
  if (maker_name) {
    place->made_by = *maker_name;
    place->maker = *maker_place;
  }
  return place;
}
std::string detail::describe(const ForwardPlace& place) {
  std::string out;
  size_t shown = 0;
  for (void* const call : place.calls) {
    const std::string name = call_name(call);
    if (shown == 0 && is_bookkeeping(name)) continue;
    out += "\n  " + name;
    if (++shown == kCallsShown) break;
  }
  if (out.find("tandem::") == std::string::npos) {  // symbols of a statically linked Tandem are not visible
    out += "\n(link the program with -rdynamic to see names here, or give the addresses to addr2line -Cfe)";
  }
  if (!place.made_by.empty()) {
    out += "\nin the backward of " + place.made_by;
    if (place.maker) out += ", which was recorded at:" + describe(*place.maker);
  }
  return out;
}

detail::MakerGuard::MakerGuard(const std::string& name, const std::shared_ptr<const ForwardPlace>& place)
    : outer_name_(std::exchange(maker_name, &name)), outer_place_(std::exchange(maker_place, &place)) {}
detail::MakerGuard::~MakerGuard() {
  maker_name = outer_name_;
  maker_place = outer_place_;
}

}  // namespace tandem::autograd
