// Benchmark, one entry of the benchmark tables. Each source in ops/ and models/ has a function that returns its table,
// and all_benchmarks() joins the tables. Nothing registers itself at start-up.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::benchmarks {

/// Sizes of the inputs of one case.
using Shapes = std::vector<std::vector<int64_t>>;
/// Returns shapes as text, such as "64x2304,2304x600". A 0-dim input is "1".
std::string shapes_to_string(const Shapes& shapes);
double numel(const std::vector<int64_t>& sizes);

/// Timed function: calls the operation once, on inputs that are ready.
using Run = std::function<void()>;

struct Benchmark {
  std::string name;           // operation and variant, for example "softmax/forward"
  std::vector<Shapes> cases;  // shapes to run on, smallest first
  // function that returns the bytes read and written by a call; null if memory does not bound its speed
  double (*bytes)(const Shapes&) = nullptr;
  // function that returns the floating-point operations of a call; null if they are not counted
  double (*flops)(const Shapes&) = nullptr;
  std::function<Run(const Shapes&)> prepare;  // makes the inputs and returns the function to time
};

std::vector<Benchmark> all_benchmarks();

// Each function returns the benchmarks that one source file in ops/ defines.
std::vector<Benchmark> overhead_benchmarks();
std::vector<Benchmark> elementwise_benchmarks();
std::vector<Benchmark> inplace_benchmarks();
std::vector<Benchmark> reduce_benchmarks();
std::vector<Benchmark> loss_benchmarks();
std::vector<Benchmark> matmul_benchmarks();
std::vector<Benchmark> bfloat16_benchmarks();
std::vector<Benchmark> layer_benchmarks();
std::vector<Benchmark> index_benchmarks();
std::vector<Benchmark> view_benchmarks();
std::vector<Benchmark> fill_benchmarks();
std::vector<Benchmark> optim_benchmarks();
// Each function returns the benchmarks that one source file in models/ defines.
std::vector<Benchmark> training_benchmarks();

// ---- helpers for writing the tables
using Inputs = std::vector<Tensor>;
using Op = std::function<Tensor(const Inputs&)>;

/// Device on which inputs are made and benchmarks run (default: the CPU).
Device device();
void set_device(Device device);
/// Returns values drawn uniformly from [-1, 1), or from [0.5, 1.5) if `positive`.
Tensor random_values(IntArrayRef sizes, bool positive = false);
/// Returns int64 values drawn uniformly from [0, high).
Tensor random_integers(int64_t high, IntArrayRef sizes);
Inputs make_inputs(const Shapes& shapes, bool positive = false);
/// Times the op alone, on inputs that do not require a gradient.
std::function<Run(const Shapes&)> prepare_forward(Op op, bool positive = false);
/// Times the replay of a Graph that captured the op.
std::function<Run(const Shapes&)> prepare_graph_replay(Op op);
/// Times the op's backward alone, with the gradients of all inputs. The forward runs once and its autograd graph is
/// retained.
std::function<Run(const Shapes&)> prepare_backward(Op op, bool positive = false);
/// Times the op's backward alone, with the gradients of all inputs returned by `make` that require one.
std::function<Run(const Shapes&)> prepare_backward(std::function<Inputs(const Shapes&)> make, Op op);

// Return the bytes of float32 memory traffic of an op. read_write_bytes: the op reads the first input and writes a
// result of the same size. The other names follow this pattern.
double read_one_bytes(const Shapes& s);
double read_write_bytes(const Shapes& s);
double read_two_write_one_bytes(const Shapes& s);
double write_one_bytes(const Shapes& s);

// Return the number of floating-point operations of an op. A multiply-add counts as two. linear: x (rows, in) and
// weight (out, in). conv: x (N, C, H, W) and weight (O, C, K, K), without padding. backward: the gradients of x and of
// the weight.
double linear_flops(const Shapes& s);
double linear_backward_flops(const Shapes& s);
double conv_flops(const Shapes& s);
double conv_backward_flops(const Shapes& s);

}  // namespace tandem::benchmarks
