// Checks every collective of a group against results computed locally. Rank r's input for rank q is a formula of r, q
// and the index, so each rank can compute the inputs of all ranks. Counts errors instead of asserting, because Catch2's
// assertions are not thread-safe.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>

#include "tandem/tandem.h"

namespace tandem::test {

class Oracle {
 public:
  using ReduceOp = distributed::ReduceOp;
  Oracle(distributed::ProcessGroup& group, Device device, DType dtype, int64_t n)
      : group_(group), device_(device), dtype_(dtype), n_(n), rank_(group.rank()), size_(group.size()) {}

  int64_t wrong() {
    for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX})
      if (op != ReduceOp::AVG || is_floating_point(dtype_)) check_reductions(op);
    check_gathers();
    check_exchanges();
    check_uneven();
    if (size_ > 1) check_transfers();
    return num_wrong_;
  }
  const std::string& what() const { return first_wrong_; }

 private:
  static constexpr int64_t kPeriod = 7;
  /// Input element i (of kPeriod) of rank `from` for rank `to`. The values are small, so that sums over 8 ranks are
  /// exact in every dtype.
  double element(int from, int to, int64_t i) const {
    const int64_t v = (i * (from + 1) + to * 3 + i * i) % 8;
    return static_cast<double>(dtype_ == kBool ? v % 2 : v);
  }
  double factor(int from, int to, int64_t i) const {
    return from < 4 ? std::fmod(element(from, to, i), dtype_ == kBool ? 2 : 3) : 1;
  }
  /// Returns n elements that repeat f(0), ..., f(kPeriod - 1).
  Tensor periodic(const std::function<double(int64_t)>& f, int64_t n) const {
    std::vector<double> period;
    for (int64_t i = 0; i < kPeriod; ++i) period.push_back(f(i));
    const Tensor once = tensor(period, kFloat64).to(dtype_);
    return once.expand({n / kPeriod + 1, kPeriod}).reshape({-1}).narrow(0, 0, n).clone().to(device_);
  }
  Tensor input(int from, int to, int64_t n) const {
    return periodic([&](int64_t i) { return element(from, to, i); }, n);
  }
  Tensor input(int from, int to) const { return input(from, to, n_); }
  Tensor operand(ReduceOp op, int from, int to) const {
    return op == ReduceOp::PRODUCT ? periodic([&](int64_t i) { return factor(from, to, i); }, n_) : input(from, to);
  }
  Tensor make_output(int64_t n) const { return full({n}, 1, TensorOptions(dtype_).device(device_)); }
  std::vector<Tensor> make_outputs() const {
    std::vector<Tensor> all;
    for (int r = 0; r < size_; ++r) all.push_back(make_output(n_));
    return all;
  }
  /// Returns the reduction over all ranks of their inputs for rank `to`.
  Tensor reduced(ReduceOp op, int to) const {
    return periodic(
        [&](int64_t i) {
          double sum = 0, product = 1, low = 1e9, high = -1e9;
          for (int r = 0; r < size_; ++r) {
            const double v = element(r, to, i);
            sum += v, low = std::min(low, v), high = std::max(high, v), product *= factor(r, to, i);
          }
          if (op == ReduceOp::PRODUCT) return product;
          if (op == ReduceOp::MIN) return low;
          if (op == ReduceOp::MAX) return high;
          if (dtype_ == kBool) return std::min(sum, 1.0);
          if (op == ReduceOp::SUM) return sum;
          return dtype_ == kFloat64 ? sum * (1.0 / size_)
                                    : double{static_cast<float>(sum) * static_cast<float>(1.0 / size_)};
        },
        n_);
  }
  void expect(const char* name, const Tensor& x, const Tensor& expected) {
    if (x.cpu().equal(expected.cpu())) return;
    ++num_wrong_;
    if (first_wrong_.empty()) first_wrong_ = name;
  }

  void check_reductions(ReduceOp op) {
    const int root = size_ / 2;
    const Tensor x = operand(op, rank_, 0), y = x.clone(), z = make_output(n_), t = make_output(n_);
    std::vector<Tensor> inputs;
    for (int q = 0; q < size_; ++q) inputs.push_back(operand(op, rank_, q));
    group_.all_reduce(x, op)->wait();
    group_.reduce(y, root, op)->wait();
    group_.reduce_scatter(z, inputs, op)->wait();
    group_.reduce_scatter_tensor(t, cat(inputs), op)->wait();
    expect("all_reduce", x, reduced(op, 0));
    expect("reduce", y, rank_ == root ? reduced(op, 0) : operand(op, rank_, 0));
    expect("reduce_scatter", z, reduced(op, rank_));
    expect("reduce_scatter_tensor", t, reduced(op, rank_));
  }
  void check_gathers() {
    const int root = size_ - 1;
    const Tensor mine = input(rank_, 0), x = mine.clone(), stacked = make_output(size_ * n_).view({size_, n_}),
                 behind = make_output(size_ * n_), part = make_output(n_),
                 rows = make_output(size_ * n_).view({n_, size_}).t();
    const std::vector<Tensor> all = make_outputs(), at_root = rank_ == root ? make_outputs() : std::vector<Tensor>();
    std::vector<Tensor> parts, expected;
    for (int r = 0; r < size_; ++r) {
      if (rank_ == root) parts.push_back(input(root, r));
      expected.push_back(input(r, 0));
    }
    group_.broadcast(x, root)->wait();
    group_.all_gather(all, mine)->wait();
    group_.all_gather_into_tensor(stacked, mine)->wait();
    group_.all_gather_into_tensor(behind, mine)->wait();
    group_.gather(at_root, mine, root)->wait();
    group_.gather_into_tensor(rank_ == root ? rows : Tensor(), mine, root)->wait();
    group_.scatter(part, parts, root)->wait();
    expect("broadcast", x, input(root, 0));
    expect("all_gather", cat(all), cat(expected));
    expect("all_gather_into_tensor, stacked", stacked.view({-1}), cat(expected));
    expect("all_gather_into_tensor", behind, cat(expected));
    if (rank_ == root) expect("gather", cat(at_root), cat(expected));
    expect("gather_into_tensor", rows.reshape({-1}), rank_ == root ? cat(expected) : make_output(size_ * n_));
    expect("scatter", part, input(root, rank_));
  }
  void check_exchanges() {
    std::vector<Tensor> inputs, expected;
    for (int r = 0; r < size_; ++r) inputs.push_back(input(rank_, r)), expected.push_back(input(r, rank_));
    const std::vector<Tensor> outputs = make_outputs();
    const Tensor single = make_output(size_ * n_);
    group_.all_to_all(outputs, inputs)->wait();
    group_.all_to_all_single(single, cat(inputs))->wait();
    expect("all_to_all", cat(outputs), cat(expected));
    expect("all_to_all_single", single, cat(expected));
  }
  /// Checks the collectives with sizes that differ between ranks, are sometimes 0, and with strided tensors. Each rank
  /// has about n_ elements in total.
  void check_uneven() {
    const int64_t n = n_ / size_;
    const auto count = [&](int from, int to) { return (n_ + from + 2 * to) % 5 == 0 ? 0 : n + (from * 3 + to) % 4; };
    std::vector<Tensor> outputs, gathered, inputs, expected, all;
    std::vector<int64_t> output_sizes, input_sizes;
    for (int r = 0; r < size_; ++r) {
      const int64_t sent = count(rank_, r), got = count(r, rank_);
      input_sizes.push_back(sent), output_sizes.push_back(got);
      inputs.push_back(input(rank_, r, 2 * sent).view({sent, 2}));
      expected.push_back(input(r, rank_, 2 * got).view({got, 2}));
      outputs.push_back(make_output(2 * got).view({2, got}).t());
      gathered.push_back(make_output(n + r));
      all.push_back(input(r, 0, n + r));
    }
    const Tensor rows = cat(inputs), wide = cat({rows, rows}, 1), single = zeros_like(cat(outputs));
    group_.all_to_all(outputs, inputs)->wait();
    group_.all_to_all_single(single, wide.narrow(1, 0, 2), output_sizes, input_sizes)->wait();
    group_.all_gather(gathered, all[static_cast<size_t>(rank_)])->wait();
    expect("all_to_all of several sizes", cat(outputs), cat(expected));
    expect("all_to_all_single of several sizes", single, cat(expected));
    expect("all_gather of several sizes", cat(gathered), cat(all));
  }
  /// Sends around the ring; then all ranks send to rank 0, which receives from any source.
  void check_transfers() {
    const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
    const Tensor got = make_output(n_);
    const auto sending = group_.send(input(rank_, next), next, 3);
    const auto receiving = group_.recv(got, last, 3);
    receiving->wait();
    sending->wait();
    expect("send and recv", got, input(last, rank_));
    if (receiving->source_rank() != last) expect("source_rank", make_output(1), make_output(2));
    if (group_.backend() == "nccl") return;
    if (rank_ > 0) {
      group_.send(input(rank_, 0), 0, 4)->wait();
      return;
    }
    std::vector<int> came(static_cast<size_t>(size_));
    for (int k = 1; k < size_; ++k) {
      const Tensor x = make_output(n_);
      const auto work = group_.recv_anysource(x, 4);
      work->wait();
      const int from = work->source_rank();
      expect("recv_anysource", x, input(from, 0));
      if (came[static_cast<size_t>(from)]++ > 0) expect("recv_anysource, twice", make_output(1), make_output(2));
    }
  }

  distributed::ProcessGroup& group_;
  const Device device_;
  const DType dtype_;
  const int64_t n_;
  const int rank_, size_;
  int64_t num_wrong_ = 0;
  std::string first_wrong_;
};

}  // namespace tandem::test
