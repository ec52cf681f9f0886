// A benchmark entry, and the tables of them: each file below has a function that returns its own, and all_benchmarks()
// joins them. Nothing registers itself at start-up.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::benchmarks {

/// The sizes of one case, input by input. Written "64x2304,2304x600"; a 0-dim input is "1".
using Shapes = std::vector<std::vector<int64_t>>;
std::string str(const Shapes& shapes);
double numel(const std::vector<int64_t>& sizes);

/// What is timed: one call of the operation, on inputs that are ready.
using Run = std::function<void()>;

struct Benchmark {
  std::string name;                           // the op, then the variant: "softmax/forward"
  std::vector<Shapes> cases;                  // the smallest first
  double (*bytes)(const Shapes&) = nullptr;   // memory that a call has to read and write; null: not what bounds it
  double (*flops)(const Shapes&) = nullptr;   // a multiply and an add count as two
  std::function<Run(const Shapes&)> prepare;  // makes the inputs
};

std::vector<Benchmark> all_benchmarks();

// ops/
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
// models/
std::vector<Benchmark> training_benchmarks();

// ---- what the tables are written with
using Inputs = std::vector<Tensor>;
using Op = std::function<Tensor(const Inputs&)>;

/// Where inputs are made and all that is timed runs; the CPU unless set.
Device device();
void set_device(Device device);
/// Uniform in [-1, 1); `positive`: in [0.5, 1.5).
Tensor values(IntArrayRef sizes, bool positive = false);
/// int64 in [0, high).
Tensor integers(int64_t high, IntArrayRef sizes);
Inputs make_inputs(const Shapes& shapes, bool positive = false);
/// The op alone, on inputs that take no gradient.
std::function<Run(const Shapes&)> forward(Op op, bool positive = false);
/// A replay of a Graph of it.
std::function<Run(const Shapes&)> captured(Op op);
/// The op's backward alone, for every input, on a graph that is kept.
std::function<Run(const Shapes&)> backward(Op op, bool positive = false);
/// The same, for inputs of any kind that `make` returns; those that require a gradient get one.
std::function<Run(const Shapes&)> backward(std::function<Inputs(const Shapes&)> make, Op op);

// float32 traffic: the first input is read, a result of its size written; and the like
double read_one(const Shapes& s);
double read_write(const Shapes& s);
double read_two_write_one(const Shapes& s);
double write_one(const Shapes& s);

// the arithmetic of x (rows, in) with a weight (out, in), and of x (N, C, H, W) with one of (O, C, K, K) and no
// padding; of backward that of both gradients
double linear_flops(const Shapes& s);
double linear_backward_flops(const Shapes& s);
double conv_flops(const Shapes& s);
double conv_backward_flops(const Shapes& s);

}  // namespace tandem::benchmarks
