// Implements the names of C++ types for error messages of AnyValue and AnyModule.
#include "tandem/nn/containers/any_value.h"

#include <cxxabi.h>

#include <cstdlib>

namespace tandem::detail {

std::string demangled_name(const std::type_info& type) {
  int status = 0;
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : type.name();
  std::free(text);
  return out;
}

}  // namespace tandem::detail
