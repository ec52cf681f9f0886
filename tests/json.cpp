#include "tandem/tests/json.h"

#include <fstream>

#include "tandem/core/error.h"

namespace tandem::test {

nlohmann::json read_json(const std::string& name) {
  const std::string path = std::string(TANDEM_TEST_FIXTURES) + "/" + name;
  std::ifstream file(path);
  TANDEM_CHECK(file, "cannot open ", path);
  return nlohmann::json::parse(file);
}

}  // namespace tandem::test
