// Every collective on a million elements: all dtypes, one to eight ranks, both backends. Minutes long: for [long] runs.
#include <atomic>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;
using test::differs;

namespace {

constexpr int64_t kPeriod = 7, kCount = (1 << 20) + 3;

/// Element i of what rank r has for rank q. Eight ranks' sum is at most 48, exact in every dtype.
int64_t periodic_element(DType dtype, int r, int q, int64_t i) {
  const int64_t v = (i * (r + 1) + q) % kPeriod;
  return dtype == kBool ? v % 2 : v;
}
/// The elements that f(i) gives for one period, over and over.
template <class F> Tensor periodic(DType dtype, F f) {
  std::vector<double> period;
  for (int64_t i = 0; i < kPeriod; ++i) period.push_back(static_cast<double>(f(i)));
  const Tensor once = tensor(period, kFloat64).to(dtype);
  return once.expand({kCount / kPeriod + 1, kPeriod}).reshape({-1}).narrow(0, 0, kCount).clone();
}
Tensor periodic_input(DType dtype, int r, int q) {
  return periodic(dtype, [&](int64_t i) { return periodic_element(dtype, r, q, i); });
}
/// The reduction of what all ranks have for rank q, written out.
Tensor periodic_reduced(DType dtype, ReduceOp op, int size, int q) {
  return periodic(dtype, [&](int64_t i) {
    double sum = 0, low = 1e9, high = -1e9;
    for (int r = 0; r < size; ++r) {
      const auto v = static_cast<double>(periodic_element(dtype, r, q, i));
      sum += v, low = std::min(low, v), high = std::max(high, v);
    }
    if (op == ReduceOp::MIN) return low;
    if (op == ReduceOp::MAX) return high;
    if (dtype == kBool) return std::min(sum, 1.0);
    if (op == ReduceOp::SUM) return sum;
    return dtype == kFloat64 ? sum * (1.0 / size) : double{static_cast<float>(sum) * static_cast<float>(1.0 / size)};
  });
}

/// inputs[q]: what this rank has for rank q.
int64_t check_reductions(ProcessGroup& group, DType dtype, ReduceOp op, const std::vector<Tensor>& inputs) {
  const int size = group.size(), rank = group.rank(), root = size / 2;
  const Tensor x = inputs[0].clone(), y = x.clone(), z = empty_like(x), expected = periodic_reduced(dtype, op, size, 0);
  group.all_reduce(x, op)->wait();
  group.reduce(y, root, op)->wait();
  group.reduce_scatter(z, inputs, op)->wait();
  return differs(x, expected) + differs(y, rank == root ? expected : inputs[0]) +
         differs(z, periodic_reduced(dtype, op, size, rank));
}
int64_t check_moves(ProcessGroup& group, DType dtype) {
  const int size = group.size(), rank = group.rank(), root = size - 1;
  const Tensor mine = periodic_input(dtype, rank, 0), x = mine.clone(), got = empty_like(x);
  std::vector<Tensor> all;
  for (int r = 0; r < size; ++r) all.push_back(empty_like(x));
  group.broadcast(x, root)->wait();
  group.all_gather(all, mine)->wait();
  int64_t bad = differs(x, periodic_input(dtype, root, 0));
  for (int r = 0; r < size; ++r) bad += differs(all[static_cast<size_t>(r)], periodic_input(dtype, r, 0));
  if (size == 1) return bad;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;  // round the ring
  const WorkPtr sending = group.send(mine, next);
  group.recv(got, last)->wait();
  sending->wait();
  return bad + differs(got, periodic_input(dtype, last, 0));
}

}  // namespace

TEST_CASE("a million elements in every collective", "[parallel][.][long]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const int size = GENERATE(range(1, 9));
  for (const DType dtype : test::kDtypes) {
    if (size > 3 && dtype != kFloat32 && dtype != kBool) continue;  // with more ranks, other dtypes show nothing more
    INFO(backend << ", " << size << " ranks, " << dtype);
    std::atomic<int64_t> bad{0};
    test::run_over(backend, size, [&](const ProcessGroupPtr& group) {
      bad += check_moves(*group, dtype);
      std::vector<Tensor> inputs;
      for (int q = 0; q < size; ++q) inputs.push_back(periodic_input(dtype, group->rank(), q));
      for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MIN, ReduceOp::MAX})
        if (op != ReduceOp::AVG || is_floating_point(dtype)) bad += check_reductions(*group, dtype, op, inputs);
    });
    CHECK(bad == 0);
  }
}
