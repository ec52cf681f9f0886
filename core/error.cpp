#include "tandem/core/error.h"

namespace tandem::detail {

std::string error_message(const char* file, int line, std::initializer_list<MessagePart> parts) {
  std::ostringstream message;
  message << std::boolalpha;
  for (const MessagePart& part : parts) message << part;
  const std::string name(file);
  message << " [" << name.substr(name.rfind('/') + 1) << ":" << line << "]";
  return message.str();
}

}  // namespace tandem::detail
