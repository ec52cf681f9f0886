// The op tests: a row names an op's call, and the harness checks it against PyTorch's numbers (fixtures/ops.json),
// finite differences, other dtypes, other layouts and other numbers of threads.
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

/// What a call gives: one tensor, or several.
struct Outputs : std::vector<Tensor> {
  Outputs(Tensor one) : std::vector<Tensor>{std::move(one)} {}
  Outputs(std::tuple<Tensor, Tensor> two) : std::vector<Tensor>{std::get<0>(two), std::get<1>(two)} {}
  Outputs(std::vector<Tensor> list) : std::vector<Tensor>(std::move(list)) {}
};

/// What is special about a row. A check is left out only for a reason, which the table of `./run ops` shows.
struct Notes {
  bool integers = false;  // check integers of every width too, in place of the real numbers if there are any
  bool view = false;      // gives views of its inputs, or an input itself
  const char* no_gradcheck = nullptr;
  const char* no_gradgradcheck = nullptr;
  const char* no_half = nullptr;
  const char* no_strided = nullptr;
  const char* no_empty = nullptr;
  const char* no_storage = nullptr;
  bool refuses_half = false;  // half types are an error, as in PyTorch
};

/// One row: a fixture's name and the op's call, a lambda without captures from In to what Outputs takes.
struct OpCase {
  template <class F>
  requires std::is_empty_v<F>
  constexpr OpCase(const char* name, F, Notes notes = {})
      : name(name), run([](In in) -> Outputs { return F{}(in); }), notes(notes) {}
  const char* name;
  Outputs (*run)(In);
  Notes notes;
};

/// The rows of tests/op_cases/<name>.cpp.
struct Family {
  const char* name;
  std::span<const OpCase> cases;
};
std::span<const Family> families();

/// What ops.json holds of an op.
struct Fixture {
  struct Sum : Checksum {
    std::vector<int64_t> shape;
    std::string dtype;
    std::vector<double> elements;  // all of them where some are not finite; there are no sums then
  };
  std::string name, family;
  std::vector<InputSpec> inputs;
  std::vector<Sum> outputs;
  std::vector<std::optional<Sum>> grads;
};
const std::vector<Fixture>& fixtures();
/// @throws Error when there is none of that name
const Fixture& fixture(const char* name);
/// The same with what half.json holds for a half type; null where it holds nothing.
const Fixture* half_fixture(const char* name, DType half);

/// The numbers of a spec (input k has salt k + 1) as a tensor on test_device(): real ones of `real`, integers int64,
/// bool.
Tensor make_input(const InputSpec& spec, size_t k, DType real);
/// A tensor of the same elements whose strides are those of no contiguous one.
Tensor scattered_copy(const Tensor& x);
/// Outputs, and the gradients of sum_j <outputs[j], value(i, 101 + j)>, undefined for an input that gets none.
struct Ran {
  std::vector<Tensor> outputs, grads;
};
Ran run_case(const OpCase& row, const std::vector<Tensor>& inputs, bool scattered_seeds = false);

/// Throws Error, which says where they differ, unless `got` has the fixture's shape, dtype and sums.
void compare(const std::string& what, const Tensor& got, const Fixture::Sum& want, DType real, double tolerance);

// Each check throws Error, which says what differs; "" says that it was done, anything else why it was not.

/// Outputs and gradients are PyTorch's, in float64 or float32.
std::string check_fixture(const OpCase& row, DType real);
/// Half types give what float64 gives for the same numbers, up to rounding.
std::string check_half(const OpCase& row, DType half);
/// Half types give what PyTorch's kernels of half types give, up to the rounding of both.
std::string check_half_fixture(const OpCase& row, DType half);
/// int64 gives what float64 gives, narrow integers what int64 gives.
std::string check_integers(const OpCase& row);
/// Inputs on two devices give an error that names both. Ops that take any device give what one device gives.
std::string check_devices(const OpCase& row);
std::string check_gradcheck(const OpCase& row);
std::string check_gradgradcheck(const OpCase& row);
/// Inputs and upstream gradients that are not contiguous change nothing.
std::string check_strided(const OpCase& row);
/// Channels-last inputs change nothing, where there are inputs of four dimensions.
std::string check_channels_last(const OpCase& row);
/// Tensors of zero rows go through, forward and backward.
std::string check_empty(const OpCase& row);
/// 1, 2 and 3 threads give the same bits, in outputs and gradients.
std::string check_threads(const OpCase& row, const std::vector<Tensor>& inputs);
std::string check_threads(const OpCase& row, DType real);

/// Views share an input's storage and say so; everything else lies without gaps and has storage of its own.
std::string check_storage(const OpCase& row);

/// FNV-1a over the bytes of a tensor's elements, in row-major order.
uint64_t digest(const Tensor& t, uint64_t start = 14695981039346656037u);

}  // namespace tandem::test
