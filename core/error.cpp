// Builds the message of an error from its parts.
#include "tandem/core/error.h"

#include "tandem/core/flag.h"

#include "tandem/core/version.h"

namespace tandem::detail {

// The symbol's name says which standard library and memory layout this library was compiled with.
const char TANDEM_STANDARD_LIBRARY = 0;

std::string error_message(const char* file, int line, std::initializer_list<MessagePart> parts) {
  std::ostringstream message;
  message << std::boolalpha;
  for (const MessagePart& part : parts) message << part;
  const std::string name(file);
  message << " [" << name.substr(name.rfind('/') + 1) << ":" << line << "]";
  return message.str();
}

void throw_invalid_flag(long long value) {
  TANDEM_FAIL("the number ", value,
              " stands where a bool is expected, such as keepdim; accepted: true, false, 1 and 0. A list of ",
              "dimensions is written in braces: {0, 2}");
}

}  // namespace tandem::detail
