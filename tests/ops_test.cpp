// Tests every op against PyTorch's numbers and finite differences: one test case for each kind of check, over the cases
// of tests/op_cases/. TANDEM_OP_FAMILY restricts the tests to one family. TANDEM_OP_REPORT names a file that gets one
// line per op case and check ("case column", then the reason if a check was left out); `./run ops` makes its table
// from it.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/kernels/lapack.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/op_cases/families.h"

using namespace tandem;
using namespace tandem::test;

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Runs one check on every op case. Failures name the case; other results go to the report under `column`.
/// On a GPU, the float32 check is reported under "emulated" or "cuda", and no other check is reported.
void check_all(std::string column, const std::function<std::string(const OpCase&)>& check) {
  if (test_device().is_cuda()) column = column == "float32" ? gpu::implementation() : "";
  const std::string only = setting("TANDEM_OP_FAMILY"), report = setting("TANDEM_OP_REPORT");
  std::ofstream out;
  static bool begun = false;  // the first check of a run overwrites an older report
  if (!report.empty()) out.open(report, begun ? std::ios::app : std::ios::trunc);
  begun = true;
  for (const Family& family : families()) {
    if (!only.empty() && only != family.name) continue;
    const bool skipped = family.name == std::string("linalg") && !kernels::cpu::has_lapack();
    if (skipped) WARN("SKIPPED the family linalg: a build without LAPACK");
    for (const OpCase& row : family.cases) {
      if (skipped) {
        if (!column.empty()) out << row.name << ' ' << column << " a build without LAPACK\n";
        continue;
      }
      INFO(row.name);
      std::string failure, reason;
      try {
        reason = check(row);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      CHECK(failure == "");
      if (failure.empty() && !column.empty())
        out << row.name << ' ' << column << (reason.empty() ? "" : " ") << reason << '\n';
    }
  }
}

}  // namespace

TEST_CASE("every row of the fixtures has a case, and every case a row", "[ops][values]") {
  const std::string only = setting("TANDEM_OP_FAMILY");
  std::set<std::string> known;
  for (const Family& family : families()) {
    for (const OpCase& row : family.cases) {
      INFO(row.name);
      CHECK(known.insert(row.name).second);
      REQUIRE_NOTHROW(fixture(row.name));
      CHECK(fixture(row.name).family == family.name);
    }
  }
  for (const Fixture& f : fixtures()) {
    INFO(f.name);
    CHECK((known.count(f.name) == 1 || (!only.empty() && only != f.family)));
  }
}
TEST_CASE("float64 values and gradients are PyTorch's", "[ops][values]") {
  check_all("float64", [](const OpCase& row) { return check_fixture(row, kFloat64); });
  check_all("fixture", [](const OpCase& row) { return fixture(row.name), ""; });
}
TEST_CASE("float32 values and gradients are PyTorch's", "[ops][values]") {
  check_all("float32", [](const OpCase& row) { return check_fixture(row, kFloat32); });
}
TEST_CASE("half types give what float64 gives, up to rounding", "[ops][values]") {
  check_all("float16", [](const OpCase& row) { return check_half(row, kFloat16); });
  check_all("bfloat16", [](const OpCase& row) { return check_half(row, kBFloat16); });
}
TEST_CASE("half types give PyTorch's results in half types", "[ops][values]") {
  check_all("", [](const OpCase& row) { return check_half_fixture(row, kFloat16); });
  check_all("", [](const OpCase& row) { return check_half_fixture(row, kBFloat16); });
}
TEST_CASE("integers give what real numbers give", "[ops][values]") { check_all("integers", check_integers); }
TEST_CASE("inputs on two devices are refused, but by ops that take any device", "[ops][values]") {
  check_all("", check_devices);
}
TEST_CASE("strided inputs and gradients change nothing", "[ops][values]") { check_all("strided", check_strided); }
TEST_CASE("channels-last inputs change nothing", "[ops][values]") { check_all("", check_channels_last); }
TEST_CASE("zero rows go through", "[ops][values]") { check_all("empty", check_empty); }
TEST_CASE("views say what they view, all else lies without gaps and has storage of its own", "[ops][values]") {
  check_all("storage", check_storage);
}
TEST_CASE("gradients are those of finite differences", "[ops][derivatives]") {
  check_all("gradcheck", check_gradcheck);
}
TEST_CASE("second derivatives are those of finite differences", "[ops][derivatives]") {
  check_all("gradgradcheck", check_gradgradcheck);
}
TEST_CASE("1, 2 and 3 threads give the same bits", "[ops][threads]") {
  check_all("threads", [](const OpCase& row) { return check_threads(row, kFloat32); });
  check_all("", [](const OpCase& row) { return check_threads(row, kBFloat16); });
}
