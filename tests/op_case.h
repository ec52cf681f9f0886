// The op tests: an OpCase names a fixture and calls an op. The checks compare the op with PyTorch's numbers
// (fixtures/ops.json), finite differences, other dtypes, other memory layouts and other numbers of threads.
#pragma once
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"
#include "tandem/tests/device.h"
#include "tandem/tests/formula.h"

namespace tandem::test {

using In = const std::vector<Tensor>&;

/// Outputs of an op: one tensor, two, or a list.
struct Outputs : std::vector<Tensor> {
  Outputs(Tensor one) : std::vector<Tensor>{std::move(one)} {}
  Outputs(std::tuple<Tensor, Tensor> two) : std::vector<Tensor>{std::get<0>(two), std::get<1>(two)} {}
  Outputs(std::vector<Tensor> list) : std::vector<Tensor>(std::move(list)) {}
};

/// Exceptions that apply to an op case. A check is left out only for a reason; `./run ops` shows the reasons in its
/// table.
struct Notes {
  bool integers = false;  // also checks integers of every width, in place of real inputs if there are any
  bool view = false;      // outputs are views of inputs, or inputs themselves
  const char* no_gradcheck = nullptr;
  const char* no_gradgradcheck = nullptr;
  const char* no_half = nullptr;
  const char* no_strided = nullptr;
  const char* no_empty = nullptr;
  const char* no_storage = nullptr;
  bool refuses_half = false;  // half types throw an error, as in PyTorch
};

/// Name of a fixture, and the op's call: a lambda without captures whose result converts to Outputs.
struct OpCase {
  template <class F>
  requires std::is_empty_v<F>
  constexpr OpCase(const char* name, F, Notes notes = {})
      : name(name), run([](In in) -> Outputs { return F{}(in); }), notes(notes) {}
  const char* name;
  Outputs (*run)(In);
  Notes notes;
};

/// The op cases of tests/op_cases/NAME.cpp.
struct Family {
  const char* name;
  std::span<const OpCase> cases;
};
std::span<const Family> families();

/// Inputs of an op case, and PyTorch's results for them, as stored in ops.json.
struct Fixture {
  struct Sum : Checksum {
    std::vector<int64_t> shape;
    std::string dtype;
    std::vector<double> elements;  // all elements, stored if some are not finite; the sums are unset then
  };
  std::string name, family;
  std::vector<InputSpec> inputs;
  std::vector<Sum> outputs;
  std::vector<std::optional<Sum>> grads;
};
const std::vector<Fixture>& fixtures();
/// Returns the fixture with this name. @throws Error if ops.json has no fixture of this name
const Fixture& fixture(const char* name);
/// Returns the fixture with PyTorch's results for a half type (half.json), or null if half.json has none.
const Fixture* half_fixture(const char* name, DType half);

/// Returns input k of a fixture as a tensor on test_device(), with salt k + 1. Real inputs have dtype `real`, integers
/// int64, and booleans bool.
Tensor make_input(const InputSpec& spec, size_t k, DType real);
/// Returns a copy of x that is not contiguous: dimensions are stored in reverse order, with gaps between elements.
Tensor scattered_copy(const Tensor& x);
/// Outputs of an op, and gradients of sum_j sum_i outputs[j][i] * value(i, 101 + j). The gradient is undefined for an
/// input that gets none.
struct Ran {
  std::vector<Tensor> outputs, grads;
};
Ran run_case(const OpCase& row, const std::vector<Tensor>& inputs, bool scattered_seeds = false);

/// Compares `got` with the fixture's shape, dtype and sums. @throws Error that says where they differ
void compare(const std::string& what, const Tensor& got, const Fixture::Sum& want, DType real, double tolerance);

// Each check throws an Error that says what differs. It returns "" if it was made, else the reason why it was left out.

/// Checks that outputs and gradients equal PyTorch's, in float64 or float32.
std::string check_fixture(const OpCase& row, DType real);
/// Checks that a half type gives the same as float64 for the same inputs, up to rounding.
std::string check_half(const OpCase& row, DType half);
/// Checks that a half type gives the same as PyTorch's kernels for it, up to the rounding errors of both.
std::string check_half_fixture(const OpCase& row, DType half);
/// Checks that int64 gives the same as float64, and narrower integers the same as int64.
std::string check_integers(const OpCase& row);
/// Checks that inputs on two devices give an error that names both devices. Ops that accept inputs on any device must
/// give the result that they give on one device.
std::string check_devices(const OpCase& row);
std::string check_gradcheck(const OpCase& row);
std::string check_gradgradcheck(const OpCase& row);
/// Checks that results do not change if inputs and upstream gradients are not contiguous.
std::string check_strided(const OpCase& row);
/// Checks that results do not change if the inputs of four dimensions are channels-last.
std::string check_channels_last(const OpCase& row);
/// Checks that forward and backward accept a batch of size 0.
std::string check_empty(const OpCase& row);
/// Checks that outputs and gradients have the same bits with 1, 2 and 3 threads.
std::string check_threads(const OpCase& row, const std::vector<Tensor>& inputs);
std::string check_threads(const OpCase& row, DType real);

/// Checks that views share an input's storage and are recorded as views, and that all other outputs are dense and have
/// storage of their own.
std::string check_storage(const OpCase& row);

/// Returns the FNV-1a hash of the bytes of a tensor's elements, in row-major order.
uint64_t digest(const Tensor& t, uint64_t start = 14695981039346656037u);

}  // namespace tandem::test
