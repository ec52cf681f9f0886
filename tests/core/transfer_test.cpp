// Tests copies between devices: all directions, strides and dtypes.
#include "tandem/core/cuda/cuda.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using test::kGpu;

namespace {

/// The numbers 0 to 7, repeated. Every dtype can hold them (bool as 0 and 1).
Tensor numbers(DType dtype, IntArrayRef sizes) {
  Tensor x = core::empty(sizes, kInt64, kCPU);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<int64_t>()[i] = (i * 5 + 3) % 8;
  return x.to(dtype);
}
const std::vector<DType> kDTypes{kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool};

}  // namespace

TEST_CASE("contiguous tensors of every dtype go to a GPU and back", "[cuda][transfer]") {
  if (!test::has_gpu()) return;
  for (const DType dtype : kDTypes) {
    CAPTURE(dtype);
    for (const auto& sizes : {Shape{}, Shape{1}, Shape{0, 3}, Shape{3, 5}, Shape{70'001}}) {
      const Tensor x = numbers(dtype, sizes);
      const Tensor there = x.to(kGpu);
      CHECK(there.device() == kGpu);
      CHECK(there.dtype() == dtype);
      CHECK(there.cpu().equal(x));
      CHECK(x.pin_memory().to(kGpu).cpu().equal(x));
      CHECK(x.pin_memory().to(kGpu, /*non_blocking=*/true).cpu().equal(x));
      const Tensor back = there.to(Device(kCPU), /*non_blocking=*/true);
      CHECK(back.is_pinned() == (x.numel() > 0));
      cuda::current_stream().synchronize();
      CHECK(back.equal(x));
    }
  }
  CHECK(numbers(kFloat32, {2}).to(kGpu).to(kGpu).device() == kGpu);
}

TEST_CASE("dtypes change on the way", "[cuda][transfer][elementwise]") {
  if (!test::has_gpu()) return;
  for (const DType from : kDTypes)
    for (const DType to : kDTypes) {
      CAPTURE(from, to);
      const Tensor x = numbers(from, {3, 7});
      const Tensor there = x.to(kGpu, to);
      CHECK(there.dtype() == to);
      CHECK(there.cpu().equal(x.to(to)));
      CHECK(x.to(kGpu).to(Device(kCPU), to).equal(x.to(to)));
    }
}

TEST_CASE("strides and broadcasting go through packed copies", "[cuda][transfer][elementwise]") {
  if (!test::has_gpu()) return;
  const bool non_blocking = GENERATE(false, true);
  const bool pinned = GENERATE(false, true);
  const DType to = GENERATE(kFloat32, kFloat64, kInt32);
  const Tensor base = pinned ? numbers(kFloat32, {4, 6}).pin_memory() : numbers(kFloat32, {4, 6});
  const std::vector<Tensor> views{base.t(),   base.narrow(1, 2, 3),  base[1], base.slice(0, 0, 4, 2),
                                  base[2][3], base[0].expand({5, 6})};
  for (const Tensor& x : views) {
    CAPTURE(x.sizes());
    const Tensor there = x.to(kGpu, to, non_blocking);
    CHECK(core::is_non_overlapping_and_dense(*there.impl()));  // keeps the dimension order of x
    CHECK(there.cpu().equal(x.to(to)));
    // Copies into views of a larger tensor, on the GPU and on the CPU, with broadcasting.
    Tensor big = zeros({3, 8, 6}, TensorOptions(to).device(kGpu));
    Shape sizes = x.sizes();
    if (sizes.size() == 2 && sizes[0] <= 6 && sizes[1] <= 8) {
      Tensor target = big.transpose(1, 2).narrow(1, 0, sizes[0]).narrow(2, 1, std::min<int64_t>(sizes[1], 7));
      const Tensor part = x.narrow(1, 0, std::min<int64_t>(sizes[1], 7));
      target.copy_(part, non_blocking);
      CHECK(target.cpu().equal(part.to(to).expand(target.sizes())));
      Tensor home = zeros({3, 8, 6}, to).transpose(1, 2).narrow(1, 0, sizes[0]);
      home = home.narrow(2, 1, part.size(1));
      home.copy_(part.to(kGpu), non_blocking);
      cuda::synchronize();
      CHECK(home.equal(part.to(to).expand(home.sizes())));
      CHECK(big.cpu().select(2, 5).narrow(1, 0, 1).sum().item<double>() == 0);  // elements outside the view stay 0
    }
  }
}

TEST_CASE("tensors go from GPU to GPU in the order of both streams", "[cuda][transfer][peers]") {
  if (!test::has_gpu()) return;
  if (cuda::device_count() < 2) {
    WARN("SKIPPED: there is one GPU");
    return;
  }
  const Device a("cuda:0"), b("cuda:1");
#if TANDEM_TEST_EMULATED
  const bool peers = GENERATE(true, false);
  emulation::set_peer_access(peers);
#endif
  const cuda::Stream on_a(a), on_b(b);
  const cuda::StreamGuard first(on_a), second(on_b);
  const Tensor x = numbers(kFloat32, {1000}).pin_memory();
  Tensor y;
  {
    test::Gate gate(on_a);
    const Tensor source = x.to(a, /*non_blocking=*/true);
    y = source.to(b);
  }
  CHECK(y.device() == b);
  CHECK(y.cpu().equal(x));
  Tensor target = zeros({1000}).to(b);
  Tensor late = x.to(a);
  target.copy_(late);
  test::fill(late.raw_data(), 0, 4000, on_a);  // overwrites `late` after it was copied
  CHECK(target.cpu().equal(x));
  {  // memory that stream b still reads must not be overwritten
    test::Gate gate(on_b);
    const Tensor before = target.clone();
    target.copy_(numbers(kFloat32, {500}).repeat({2}).to(a));
    CHECK(test::stays_busy(on_a));
    gate.open();
    CHECK(before.cpu().equal(x));
  }
  Tensor w = x.to(a).requires_grad_();
  w.to(b).backward(x.to(b));
  CHECK(w.grad().device() == a);
  CHECK(w.grad().cpu().equal(x));
#if TANDEM_TEST_EMULATED
  emulation::set_peer_access(true);
#endif
}

TEST_CASE("gradients go back the way their tensors came", "[cuda][transfer][autograd]") {
  if (!test::has_gpu()) return;
  const Tensor x = numbers(kFloat32, {4}).requires_grad_();
  const Tensor y = x.to(kGpu, /*non_blocking=*/true);
  REQUIRE(y.requires_grad());
  y.cpu().backward(full({4}, 2.0));
  CHECK(x.grad().is_cpu());
  CHECK(x.grad().equal(full({4}, 2.0)));
}

TEST_CASE("a copy from ordinary memory has read it when it returns", "[cuda][transfer][stream]") {
  if (!test::has_gpu()) return;
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  Tensor x = full({1000}, 1.0), target = zeros({1000}, kGpu);
  const Tensor made = x.to(kGpu);
  CHECK(stream.query());
  target.copy_(x);
  x.fill_(5);
  CHECK(made.cpu().equal(full({1000}, 1.0)));
  CHECK(target.cpu().equal(full({1000}, 1.0)));
}

TEST_CASE("a copy that nobody waits for reads page-locked memory late, and takes ordinary memory's bytes along",
          "[cuda][transfer][stream]") {
  if (!test::has_gpu()) return;
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  Tensor x = full({1000}, 1.0), pinned = full({1000}, 2.0).pin_memory();
  // Caches two page-locked blocks for the copies below.
  { const Tensor one = pinned.add(0).pin_memory(), other = pinned.add(0).pin_memory(); }
  Tensor from_x, from_pinned, back;
  {
    test::Gate gate(stream);
    from_x = x.to(kGpu, /*non_blocking=*/true), x.fill_(5);
    from_pinned = pinned.to(kGpu, /*non_blocking=*/true);
    back = from_pinned.to(Device(kCPU), /*non_blocking=*/true);
    CHECK_FALSE(stream.query());
  }
  stream.synchronize();
  CHECK(back.equal(pinned));
  CHECK(from_x.cpu().equal(full({1000}, 1.0)));
  pinned.fill_(3);
  CHECK(from_pinned.cpu().equal(full({1000}, 2.0)));
}
