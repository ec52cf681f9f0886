// Tests optimizer steps, gradient clipping and the kernel `combine` on the GPU against the CPU's, or against sums in
// double.
#include <vector>

#include "tandem/kernels/combine.h"
#include "tandem/kernels/optim.h"
#include "tandem/tests/kernels/cuda_tensors.h"

using namespace tandem;
using namespace tandem::test;
namespace {

using Tensors = std::vector<Tensor>;

// Sizes of parameters: one element, a partial packet, none, more than a block; then more tensors than fit into a
// launch.
const std::vector<std::vector<int64_t>> kSizes = {{1, 3, 0, 1025, 4}, std::vector<int64_t>(150, 5), {20001}, {}};

template <class Make> Tensors tensors(const std::vector<int64_t>& sizes, Make make) {
  Tensors all;
  all.reserve(sizes.size());
  for (const int64_t n : sizes) all.push_back(make(n));
  return all;
}
Tensors all_to_gpu(const Tensors& all) {
  Tensors copies;
  copies.reserve(all.size());
  for (const Tensor& t : all) copies.push_back(test::to_gpu(t));
  return copies;
}
/// Copies tensors to the GPU. Every second copy starts one element into its memory, so it is not aligned to 16 bytes.
Tensors to_odd_places(const Tensors& all) {
  Tensors copies = all_to_gpu(all);
  for (size_t i = 0; i < all.size(); i += 2) {
    const Tensor room = core::empty({all[i].numel() + 1}, all[i].dtype(), kCUDA);
    copies[i] = core::narrow(room, 0, 1, all[i].numel());
    if (all[i].numel() == 0) continue;
    const auto stream = cuda::current_stream(kCUDA);
    gpu::copy_async(copies[i].raw_data(), all[i].raw_data(), static_cast<size_t>(all[i].nbytes()), stream.handle());
    stream.synchronize();
  }
  return copies;
}
/// Compares relative to the larger of 1 and the value: a few roundings per step, and more if a compiler fuses
/// operations.
void require_close(const Tensors& got, const Tensors& want) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (size_t t = 0; t < got.size(); ++t) {
    const Tensor here = to_cpu(got[t]);
    const double unit = unit_of(here.dtype());
    for (int64_t i = 0; i < here.numel(); ++i) {
      const double error = std::abs(at(here, i) - at(want[t], i)) / (unit * std::max(1.0, std::abs(at(want[t], i))));
      worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    }
  }
  REQUIRE(worst <= 16);
}

Tensor values_of(const std::vector<double>& numbers) { return tensor(numbers, kFloat64); }

}  // namespace

TEST_CASE("Adam on the GPU takes the CPU's steps", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(8);
  for (const auto& sizes : kSizes)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (const bool amsgrad : {false, true}) {
        CAPTURE(sizes.size(), dtype, amsgrad);
        const auto random = [&](int64_t n) { return randn({n}, dtype); };
        const auto zero = [&](int64_t n) { return zeros({n}, dtype); };
        // Without amsgrad, weight decay is decoupled (AdamW).
        const Tensor step = values_of({0.01, 0.9, 0.99, 0.1, 0.01, 1e-8, amsgrad ? 0.1 : 0, amsgrad ? 1 : 0.999, 0, 1});
        Tensors p = tensors(sizes, random), m = tensors(sizes, zero), v = tensors(sizes, zero),
                top = amsgrad ? tensors(sizes, zero) : Tensors(sizes.size());
        Tensors gpu_p = to_odd_places(p), gpu_m = all_to_gpu(m), gpu_v = all_to_gpu(v),
                gpu_top = amsgrad ? all_to_gpu(top) : Tensors(sizes.size());
        for (int k = 1; k <= 3; ++k) {
          const Tensors g = tensors(sizes, random);
          Tensors steps;  // a separate step count per parameter
          for (size_t i = 0; i < sizes.size(); ++i) steps.push_back(full({}, k + static_cast<int>(i % 3), kFloat32));
          Tensors none(sizes.size());
          kernels::cpu::adam(step, amsgrad, g, steps, p, m, v, top, none);
          kernels::cuda::adam(step.to(kCUDA), amsgrad, k == 2 ? to_odd_places(g) : all_to_gpu(g), all_to_gpu(steps),
                              gpu_p, gpu_m, gpu_v, gpu_top, none);
        }
        require_close(gpu_p, p);
        require_close(gpu_m, m);
        require_close(gpu_v, v);
        if (amsgrad) require_close(gpu_top, top);
      }
}

TEST_CASE("SGD on the GPU takes the CPU's steps", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(9);
  for (const auto& sizes : kSizes)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (const int kind : {0, 1, 2}) {  // plain, with momentum, with Nesterov momentum
        CAPTURE(sizes.size(), dtype, kind);
        const auto random = [&](int64_t n) { return randn({n}, dtype); };
        Tensors p = tensors(sizes, random), buffers = kind > 0 ? tensors(sizes, random) : Tensors(sizes.size());
        Tensors gpu_p = all_to_gpu(p), gpu_buffers = kind > 0 ? to_odd_places(buffers) : buffers;
        for (int k = 1; k <= 3; ++k) {
          const Tensors g = tensors(sizes, random);
          const double old = k == 1 ? 0 : 0.9, added = k == 1 ? 1 : kind == 1 ? 0.8 : 1;
          const Tensor step = values_of({0.1, 0.9, 0.05, old, added, 0, 1});
          Tensors none(sizes.size());
          kernels::cpu::sgd(step, kind > 0, kind == 2, g, p, buffers, none);
          kernels::cuda::sgd(step.to(kCUDA), kind > 0, kind == 2, all_to_gpu(g), gpu_p, gpu_buffers, none);
        }
        require_close(gpu_p, p);
        if (kind > 0) require_close(gpu_buffers, buffers);
      }
}

TEST_CASE("steps on the GPU with gradients of another dtype and half copies are the CPU's", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(14);
  struct Types {
    DType parameter, gradient, copy;  // copy: the parameter's dtype if there are no copies
  };
  for (const auto& sizes : kSizes)
    for (const Types types : {Types{kFloat32, kFloat16, kFloat16}, Types{kFloat32, kFloat32, kBFloat16},
                              Types{kFloat32, kBFloat16, kFloat32}, Types{kBFloat16, kFloat32, kBFloat16},
                              Types{kFloat16, kBFloat16, kFloat16}}) {
      CAPTURE(sizes.size(), types.parameter, types.gradient, types.copy);
      const bool copied = types.copy != types.parameter;
      const auto random = [&](int64_t n) { return randn({n}, types.parameter); };
      const auto make_copies = [&] {
        return tensors(sizes, [&](int64_t n) { return copied ? zeros({n}, types.copy) : Tensor(); });
      };
      const Tensors g = tensors(sizes, [&](int64_t n) { return randn({n}, types.gradient); });
      const Tensors steps = tensors(sizes, [&](int64_t) { return full({}, 3, kFloat32); });
      for (const bool adam : {true, false}) {
        Tensors p = tensors(sizes, random), m = tensors(sizes, random), v = tensors(sizes, random), top(sizes.size()),
                copies = make_copies();
        for (Tensor& each : v) each = each.abs();
        Tensors gpu_p = to_odd_places(p), gpu_m = all_to_gpu(m), gpu_v = all_to_gpu(v),
                gpu_copies = copied ? to_odd_places(copies) : copies;
        if (adam) {
          const Tensor values = values_of({0.01, 0.9, 0.99, 0.1, 0.01, 1e-8, 0.1, 1, 0, 0.5});
          kernels::cpu::adam(values, false, g, steps, p, m, v, top, copies);
          kernels::cuda::adam(values.to(kCUDA), false, to_odd_places(g), all_to_gpu(steps), gpu_p, gpu_m, gpu_v, top,
                              gpu_copies);
        } else {
          const Tensor values = values_of({0.1, 0.9, 0.05, 0.9, 1, 0, 0.5});
          kernels::cpu::sgd(values, true, false, g, p, m, copies);
          kernels::cuda::sgd(values.to(kCUDA), true, false, to_odd_places(g), gpu_p, gpu_m, gpu_copies);
        }
        require_close(gpu_p, p);
        require_close(gpu_m, m);
        if (!copied) continue;
        for (size_t i = 0; i < sizes.size(); ++i) {
          REQUIRE(same_bits(copies[i], p[i].to(types.copy)));
          REQUIRE(same_bits(to_cpu(gpu_copies[i]), to_cpu(gpu_p[i]).to(types.copy)));
        }
      }
    }
}

TEST_CASE("blocks of many tensors on the GPU are reduced to the same numbers wherever they lie", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(10);
  for (const auto& sizes : kSizes)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(sizes.size(), dtype);
      const Tensors x = tensors(sizes, [&](int64_t n) { return randn({n}, dtype); });
      for (const double p : {2.0, 1.0, HUGE_VAL, -HUGE_VAL}) {
        std::vector<double> want;
        for (const Tensor& t : x)
          for (int64_t i = 0; i < t.numel(); ++i) {
            const double size = std::abs(at(t, i));
            if (i % 4096 == 0) want.push_back(p < 0 ? size : 0);
            double& number = want.back();
            number = p == 2   ? number + size * size
                     : p == 1 ? number + size
                     : p > 0  ? std::max(number, size)
                              : std::min(number, size);
          }
        Tensor numbers = core::empty({static_cast<int64_t>(want.size())}, kFloat64, kCUDA), again = empty_like(numbers);
        kernels::cuda::reduce_blocks(all_to_gpu(x), p, 4096, numbers);
        kernels::cuda::reduce_blocks(to_odd_places(x), p, 4096, again);
        for (size_t b = 0; b < want.size(); ++b)  // each is a sum of 4,096 terms in double
          REQUIRE(std::abs(at(to_cpu(numbers), static_cast<int64_t>(b)) - want[b]) <= 1e-13 * want[b]);
        REQUIRE(same_bits(to_cpu(numbers), to_cpu(again)));
      }
    }
}

TEST_CASE("scale_all and add_to_all on the GPU change every element once", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(11);
  for (const auto& sizes : kSizes)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      Tensors x = tensors(sizes, [&](int64_t n) { return randn({n}, dtype); });
      Tensors gpu = to_odd_places(x);
      kernels::cpu::scale_all(0.3, x);
      kernels::cuda::scale_all(0.3, gpu);
      kernels::cpu::add_to_all(0.7, {}, x);
      kernels::cuda::add_to_all(0.7, {}, gpu);
      for (size_t i = 0; i < x.size(); ++i) REQUIRE(same_bits(to_cpu(gpu[i]), x[i]));
    }
}

TEST_CASE("unscale_all on the GPU multiplies as on the CPU, and finds one bad element anywhere", "[cuda][optim]") {
  TANDEM_NEEDS_GPU();
  manual_seed(13);
  for (const auto& sizes : kSizes)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      const Tensor factor = full({}, 0.25);
      Tensors x = tensors(sizes, [&](int64_t n) { return randn({n}, dtype); });
      for (const double bad : {0.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        size_t at = 0;  // the last element of the last tensor that is not empty
        for (size_t i = 0; i < x.size(); ++i)
          if (x[i].numel() > 0) at = i;
        CAPTURE(sizes.size(), dtype, bad, at);
        Tensors here = tensors(sizes, [&](int64_t) { return Tensor(); });
        for (size_t i = 0; i < x.size(); ++i) here[i] = x[i].clone();
        if (!here.empty() && bad != 0) here[at].select(0, -1).fill_(bad);
        Tensors gpu = to_odd_places(here);
        for (const bool write : {false, true}) {
          Tensor cpu_flag = zeros({}), gpu_flag = test::to_gpu(cpu_flag);
          if (write) {
            kernels::cpu::unscale_all(factor, here, cpu_flag);
            kernels::cuda::unscale_all(test::to_gpu(factor), gpu, gpu_flag);
          } else {
            kernels::cpu::find_non_finite(here, cpu_flag);
            kernels::cuda::find_non_finite(gpu, gpu_flag);
          }
          const double expected = bad != 0 && !here.empty() ? 1 : 0;
          REQUIRE(cpu_flag.item<double>() == expected);
          REQUIRE(to_cpu(gpu_flag).item<double>() == expected);
          for (size_t i = 0; i < x.size(); ++i) {
            if (!(bad != bad && i == at)) REQUIRE(same_bits(to_cpu(gpu[i]), here[i]));
            if (i != at) REQUIRE(same_bits(here[i], write ? (x[i] * 0.25).to(dtype) : x[i]));
          }
        }
      }
    }
}

TEST_CASE("combine on the GPU gives the CPU's bits for every dtype", "[cuda][combine]") {
  TANDEM_NEEDS_GPU();
  manual_seed(12);
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool})
    for (const auto how : {kernels::CombineOp::sum, kernels::CombineOp::max, kernels::CombineOp::min})
      for (const int64_t n : {0, 1, 37, 300}) {
        CAPTURE(dtype, static_cast<int>(how), n);
        const double scale = how == kernels::CombineOp::sum ? 1.0 / 3 : 1.0;
        const Tensors parts = tensors({n, n, n}, [&](int64_t k) {
          return (is_floating_point(dtype) ? randn({k}) : randint(0, 100, {k})).to(dtype);
        });
        Tensor want = empty({n}, dtype), y = core::empty({n}, dtype, kCUDA);
        kernels::cpu::combine(parts, how, scale, want);
        kernels::cuda::combine(all_to_gpu(parts), how, scale, y);
        REQUIRE(same_bits(to_cpu(y), want));
        Tensors odd = to_odd_places(parts);  // also writes the result into one of the inputs
        kernels::cuda::combine(odd, how, scale, odd[2]);
        REQUIRE(same_bits(to_cpu(odd[2]), want));
      }
}

TEST_CASE("combine on the GPU takes more parts than a launch can name, in order", "[cuda][combine]") {
  TANDEM_NEEDS_GPU();
  manual_seed(13);
  const Tensors parts = tensors(std::vector<int64_t>(130, 9), [](int64_t n) { return randn({n}); });
  Tensor want = empty({9});
  kernels::cpu::combine(parts, kernels::CombineOp::sum, 0.5, want);
  for (const size_t into : {size_t(0), size_t(100)}) {
    Tensors gpu = all_to_gpu(parts);
    kernels::cuda::combine(gpu, kernels::CombineOp::sum, 0.5, gpu[into]);
    REQUIRE(same_bits(to_cpu(gpu[into]), want));
  }
}
