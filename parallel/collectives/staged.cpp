// Implements the staged communicator: copies CUDA tensors to page-locked memory, calls the CPU communicator, and copies
// the results back.
#include "tandem/parallel/collectives/staged.h"

#include "tandem/core/cuda/cuda.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::distributed {
namespace {

/// Host copies of the tensors of one call.
class Stage {
 public:
  explicit Stage(const Call& call) : device_(call.device) {}
  /// Returns host memory with the shape of `x`; if x is on the CPU, x itself.
  Tensor room(const Tensor& x) const { return x.is_cpu() ? x : core::empty_pinned(x.sizes(), x.dtype()); }
  /// Starts to copy `x` to the host, and returns the copy. Its values are valid after wait().
  Tensor bring(const Tensor& x) const {
    Tensor here = room(x);
    if (x.is_cuda()) copy_elements(x, here, /*non_blocking=*/true);
    return here;
  }
  void wait() const {
    if (device_.is_cuda()) cuda::current_stream(device_).synchronize();
  }
  void take_back(const Tensor& here, const Tensor& x) const {
    if (x.is_cuda()) copy_elements(here, x, /*non_blocking=*/true);
  }

 private:
  Device device_;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(int rank, std::unique_ptr<Communicator> cpu) : rank_(rank), cpu_(std::move(cpu)) {}

  void all_reduce(const Call& call, Tensor& x) override {
    const Stage stage(call);
    Tensor here = stage.bring(x);
    stage.wait();
    cpu_->all_reduce(call, here);
    stage.take_back(here, x);
  }
  void broadcast(const Call& call, Tensor& x) override {
    const Stage stage(call);
    Tensor here = rank_ == call.other ? stage.bring(x) : stage.room(x);
    stage.wait();
    cpu_->broadcast(call, here);
    if (rank_ != call.other) stage.take_back(here, x);
  }
  void reduce(const Call& call, Tensor& x) override {
    const Stage stage(call);
    Tensor here = stage.bring(x);
    stage.wait();
    cpu_->reduce(call, here);
    if (rank_ == call.other) stage.take_back(here, x);
  }
  void all_gather(const Call& call, std::vector<Tensor>& outputs, const Tensor& input) override {
    const Stage stage(call);
    const Tensor in = stage.bring(input);
    std::vector<Tensor> out;
    out.reserve(outputs.size());
    for (const Tensor& y : outputs) out.push_back(stage.room(y));
    stage.wait();
    cpu_->all_gather(call, out, in);
    for (size_t r = 0; r < out.size(); ++r) stage.take_back(out[r], outputs[r]);
  }
  void reduce_scatter(const Call& call, Tensor& output, const std::vector<Tensor>& inputs) override {
    const Stage stage(call);
    std::vector<Tensor> in;
    in.reserve(inputs.size());
    for (const Tensor& x : inputs) in.push_back(stage.bring(x));
    Tensor out = stage.room(output);
    stage.wait();
    cpu_->reduce_scatter(call, out, in);
    stage.take_back(out, output);
  }
  void exchange(const Call& call, std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) override {
    const Stage stage(call);
    std::vector<Tensor> in(inputs.size()), out(outputs.size());
    for (size_t r = 0; r < inputs.size(); ++r) {
      if (!inputs[r].defined()) continue;
      const bool again = r > 0 && inputs[r].is_same(inputs[r - 1]);
      in[r] = again ? in[r - 1] : stage.bring(inputs[r]);
    }
    for (size_t r = 0; r < outputs.size(); ++r)
      if (outputs[r].defined()) out[r] = stage.room(outputs[r]);
    stage.wait();
    cpu_->exchange(call, out, in);
    for (size_t r = 0; r < outputs.size(); ++r)
      if (outputs[r].defined()) stage.take_back(out[r], outputs[r]);
  }
  void send(const Call& call, const Tensor& x, int tag) override {
    const Stage stage(call);
    const Tensor here = stage.bring(x);
    stage.wait();
    cpu_->send(call, here, tag);
  }
  int recv(const Call& call, Tensor& x, int tag) override {
    const Stage stage(call);
    Tensor here = stage.room(x);
    const int from = cpu_->recv(call, here, tag);
    stage.take_back(here, x);
    return from;
  }
  void barrier(const Call& call) override { cpu_->barrier(call); }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, MembersPtr members,
                                      std::chrono::milliseconds timeout) override {
    return make_staged_communicator(rank, cpu_->split(name, rank, std::move(members), timeout));
  }
  void abort(const std::string& reason) override { cpu_->abort(reason); }
  std::shared_ptr<std::atomic<bool>> told() const override { return cpu_->told(); }
  int64_t total_sent() const override { return cpu_->total_sent(); }

 private:
  const int rank_;
  const std::unique_ptr<Communicator> cpu_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(int rank, std::unique_ptr<Communicator> cpu) {
  return std::make_unique<StagedCommunicator>(rank, std::move(cpu));
}

}  // namespace tandem::distributed
