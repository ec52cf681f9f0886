// The dtypes of every op's results under autocast against PyTorch's (fixtures/autocast.json), over the rows of
// tests/op_cases/.
#include <map>

#include "tandem/core/autocast.h"
#include "tandem/kernels/lapack.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/op_cases/families.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// Inputs of a row; the real ones take the dtypes of `reals` in turn, and those that can require a gradient.
std::vector<Tensor> make_inputs(const Fixture& f, const std::vector<DType>& reals) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < f.inputs.size(); ++k) inputs.push_back(make_input(f.inputs[k], k, reals[k % reals.size()]));
  return inputs;
}
std::string joined_dtypes(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& x : tensors) text += (text.empty() ? "" : ",") + std::string(name(x.dtype()));
  return text;
}

}  // namespace

TEST_CASE("results under autocast have PyTorch's dtypes, and gradients those of their inputs", "[ops][autocast]") {
  std::map<std::string, const OpCase*> cases;
  for (const Family& family : families())
    if (family.name != std::string("linalg") || kernels::cpu::has_lapack())
      for (const OpCase& row : family.cases) cases[row.name] = &row;
  const std::vector<std::vector<DType>> operands{{kBFloat16}, {kFloat32}, {kBFloat16, kFloat32}};
  const DeviceType device = test_device().type();
  const nlohmann::json file = read_json("autocast.json");
  size_t compared = 0;
  for (const nlohmann::json& row : file.at("cases")) {
    const std::string op = row.at("name");
    if (!cases.count(op)) continue;
    const std::string base = op.substr(0, op.find('/'));
    // On GPUs autocast refuses the first, and the others give statistics of another dtype, with and without autocast.
    if (device == kCUDA &&
        (base == "binary_cross_entropy" || base == "native_batch_norm" || base == "native_group_norm"))
      continue;
    const OpCase& each = *cases.at(op);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (row.at("dtypes").at(k).is_null()) continue;
      INFO(op << " with operands " << k);
      std::string found;
      std::vector<Tensor> inputs = make_inputs(fixture(op.c_str()), operands[k]);
      try {
        const AutocastGuard guard(device, kBFloat16);
        const Ran ran = run_case(each, inputs);
        found = joined_dtypes(ran.outputs);
        for (size_t i = 0; i < inputs.size(); ++i)
          if (ran.grads[i].defined()) CHECK(ran.grads[i].dtype() == inputs[i].dtype());
      } catch (const std::exception& error) {
        found = error.what();
      }
      CHECK(found == row.at("dtypes").at(k).get<std::string>());
      ++compared;
    }
  }
  CHECK(compared > 1500);
}
