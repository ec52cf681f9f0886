// Implements the staged communicator: copies CUDA tensors to page-locked memory, calls the CPU communicator, and copies
// the results back.
#include "tandem/parallel/collectives/staged.h"

#include "tandem/core/cuda/cuda.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::distributed {
namespace {

/// Host copies of the tensors of one call.
class HostStaging {
 public:
  explicit HostStaging(const CollectiveCall& call) : device_(call.device) {}
  /// Returns host memory with the shape of `x`; if x is on the CPU, x itself.
  Tensor host_buffer(const Tensor& x) const { return x.is_cpu() ? x : core::empty_pinned(x.sizes(), x.dtype()); }
  /// Starts to copy `x` to the host, and returns the copy. Its values are valid after wait().
  Tensor copy_to_host(const Tensor& x) const {
    Tensor host = host_buffer(x);
    if (x.is_cuda()) copy_elements(x, host, /*non_blocking=*/true);
    return host;
  }
  void wait() const {
    if (device_.is_cuda()) cuda::current_stream(device_).synchronize();
  }
  void copy_from_host(const Tensor& host, const Tensor& x) const {
    if (x.is_cuda()) copy_elements(host, x, /*non_blocking=*/true);
  }

 private:
  Device device_;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(int rank, std::unique_ptr<Communicator> cpu) : rank_(rank), cpu_communicator_(std::move(cpu)) {}

  void all_reduce(const CollectiveCall& call, Tensor& x) override {
    const HostStaging staging(call);
    Tensor host = staging.copy_to_host(x);
    staging.wait();
    cpu_communicator_->all_reduce(call, host);
    staging.copy_from_host(host, x);
  }
  void broadcast(const CollectiveCall& call, Tensor& x) override {
    const HostStaging staging(call);
    Tensor host = rank_ == call.root_or_peer ? staging.copy_to_host(x) : staging.host_buffer(x);
    staging.wait();
    cpu_communicator_->broadcast(call, host);
    if (rank_ != call.root_or_peer) staging.copy_from_host(host, x);
  }
  void reduce(const CollectiveCall& call, Tensor& x) override {
    const HostStaging staging(call);
    Tensor host = staging.copy_to_host(x);
    staging.wait();
    cpu_communicator_->reduce(call, host);
    if (rank_ == call.root_or_peer) staging.copy_from_host(host, x);
  }
  void all_gather(const CollectiveCall& call, std::vector<Tensor>& outputs, const Tensor& input) override {
    const HostStaging staging(call);
    const Tensor in = staging.copy_to_host(input);
    std::vector<Tensor> out;
    out.reserve(outputs.size());
    for (const Tensor& y : outputs) out.push_back(staging.host_buffer(y));
    staging.wait();
    cpu_communicator_->all_gather(call, out, in);
    for (size_t r = 0; r < out.size(); ++r) staging.copy_from_host(out[r], outputs[r]);
  }
  void reduce_scatter(const CollectiveCall& call, Tensor& output, const std::vector<Tensor>& inputs) override {
    const HostStaging staging(call);
    std::vector<Tensor> in;
    in.reserve(inputs.size());
    for (const Tensor& x : inputs) in.push_back(staging.copy_to_host(x));
    Tensor out = staging.host_buffer(output);
    staging.wait();
    cpu_communicator_->reduce_scatter(call, out, in);
    staging.copy_from_host(out, output);
  }
  void all_to_all_v(const CollectiveCall& call, std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs) override {
    const HostStaging staging(call);
    std::vector<Tensor> in(inputs.size()), out(outputs.size());
    for (size_t r = 0; r < inputs.size(); ++r) {
      if (!inputs[r].defined()) continue;
      const bool again = r > 0 && inputs[r].is_same(inputs[r - 1]);
      in[r] = again ? in[r - 1] : staging.copy_to_host(inputs[r]);
    }
    for (size_t r = 0; r < outputs.size(); ++r)
      if (outputs[r].defined()) out[r] = staging.host_buffer(outputs[r]);
    staging.wait();
    cpu_communicator_->all_to_all_v(call, out, in);
    for (size_t r = 0; r < outputs.size(); ++r)
      if (outputs[r].defined()) staging.copy_from_host(out[r], outputs[r]);
  }
  void send(const CollectiveCall& call, const Tensor& x, int tag) override {
    const HostStaging staging(call);
    const Tensor host = staging.copy_to_host(x);
    staging.wait();
    cpu_communicator_->send(call, host, tag);
  }
  int recv(const CollectiveCall& call, Tensor& x, int tag) override {
    const HostStaging staging(call);
    Tensor host = staging.host_buffer(x);
    const int from = cpu_communicator_->recv(call, host, tag);
    staging.copy_from_host(host, x);
    return from;
  }
  void barrier(const CollectiveCall& call) override { cpu_communicator_->barrier(call); }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                      std::chrono::milliseconds timeout) override {
    return make_staged_communicator(rank, cpu_communicator_->split(name, rank, std::move(members), timeout));
  }
  void abort(const std::string& reason) override { cpu_communicator_->abort(reason); }
  std::shared_ptr<std::atomic<bool>> failure_reported() const override { return cpu_communicator_->failure_reported(); }
  int64_t total_bytes_sent() const override { return cpu_communicator_->total_bytes_sent(); }

 private:
  const int rank_;
  const std::unique_ptr<Communicator> cpu_communicator_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(int rank, std::unique_ptr<Communicator> cpu) {
  return std::make_unique<StagedCommunicator>(rank, std::move(cpu));
}

}  // namespace tandem::distributed
