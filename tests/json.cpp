#include "tandem/tests/json.h"

#include <fstream>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"
#include "tandem/tests/paths.h"

namespace tandem::test {

nlohmann::json read_json(const std::string& name) {
  const std::string path = std::string(kFixtures) + "/" + name;
  std::ifstream file(path);
  TANDEM_CHECK(file, "cannot open ", path);
  return nlohmann::json::parse(file);
}

nlohmann::json parse_json(const std::string& text) { return nlohmann::json::parse(text); }

DType dtype_named(const std::string& text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  TANDEM_CHECK(false, "no dtype is called ", text);
  return kFloat32;
}

}  // namespace tandem::test
