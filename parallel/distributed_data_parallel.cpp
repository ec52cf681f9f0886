// Implements the parts of DistributedDataParallel that are not templates: checks, broadcasts, weights, and calls of the
// reducer.
#include "tandem/parallel/distributed_data_parallel.h"

#include <cmath>
#include <cstring>

#include "tandem/autograd/record.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/nn/batch_norm.h"
#include "tandem/nn/module/match_parameters.h"
#include "tandem/nn/utils/checkpoint.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/join.h"
#include "tandem/parallel/reducer.h"

namespace tandem::nn::parallel {

TANDEM_ARG_SETTER(DistributedDataParallelOptions, std::vector<std::string>, parameters_to_ignore);

namespace {

/// Describes each parameter and buffer on a line of its own, such as "parameter fc1.weight float32 (128, 784)".
std::string describe_tensors(const NamedParameters& parameters, const NamedParameters& buffers) {
  std::ostringstream out;
  const auto list = [&](const NamedParameters& tensors, const char* kind) {
    for (const auto& item : tensors)
      out << kind << " " << item.key() << " " << item.value().dtype() << " " << item.value().sizes()
          << (item.value().requires_grad() ? "" : ", frozen") << "\n";
  };
  list(parameters, "parameter");
  list(buffers, "buffer");
  return out.str();
}
std::string nth_line(const std::string& text, size_t number) {
  std::istringstream in(text);
  std::string found;
  for (size_t i = 0; i <= number; ++i)
    if (!std::getline(in, found)) return "nothing more";
  return found;
}

}  // namespace

DistributedDataParallelBase::DistributedDataParallelBase(const std::shared_ptr<Module>& module,
                                                         const DistributedDataParallelOptions& options)
    : WrapperModule("DistributedDataParallel"),
      group_(options.process_group() ? options.process_group() : distributed::default_group()),
      options_(options),
      ddp_name_("DDP " + std::to_string(group_->next_user())),
      wrapped_module_(register_module("module", module)),
      parameters_when_wrapped_(remove_ignored_parameters(module->named_parameters())) {
  check_parameters_to_ignore();
  const NamedParameters& parameters = parameters_when_wrapped_;
  const NamedParameters buffers = remove_ignored_parameters(module->named_buffers());
  bool has_device = false;
  for (const NamedParameters* list : {&parameters, &buffers})
    for (const auto& item : *list) {
      if (!has_device) device_ = item.value().device();
      has_device = true;
      TANDEM_CHECK(item.value().device() == device_, "DistributedDataParallel: ", item.key(), " is on ",
                   item.value().device(), ", but the tensors before it are on ", device_,
                   "; accepted: a module on one device");
    }
  for (const Tensor& p : parameters.values()) frozen_when_wrapped_.push_back(!p.requires_grad());
  for (const auto& each : module->modules()) {
    const auto* const norm = dynamic_cast<const tandem::detail::NormTensors*>(each.get());
    TANDEM_CHECK(
        !options.weighted_average() || !norm || !norm->stats_reducer,
        "DistributedDataParallel: the module has a SyncBatchNorm, whose backward sums over ranks before the ranks' "
        "weights apply; weighted_average works with other norms only");
  }
  check_same_model();
  broadcast_tensors(module_states(), "the model of rank 0");
  if (options.broadcast_buffers()) buffers_to_sync_ = buffers.values();
  const int64_t every = options.check_parameters_every();
  TANDEM_CHECK(every >= 0, "DistributedDataParallel: check_parameters_every is ", every,
               "; accepted: 1 or more (forwards from one check to the next), or 0 for no checks");
  ReducerOptions reducer;
  reducer.bucket_cap_bytes = compute_bucket_cap_bytes();
  reducer.first_bucket_bytes = std::min(reducer.first_bucket_bytes, reducer.bucket_cap_bytes);
  reducer.find_unused_parameters = options.find_unused_parameters();
  reducer.gradient_as_bucket_view = options.gradient_as_bucket_view();
  reducer.weighted = options.weighted_average();
  reducer.static_graph = options.static_graph();
  reducer_ = OwnedPtr(new Reducer(ddp_name_, parameters, group_, reducer));
  logging_.bucket_cap_bytes = reducer.bucket_cap_bytes, logging_.first_bucket_bytes = reducer.first_bucket_bytes;
  reducer_handle_ = std::make_shared<Reducer*>(reducer_.get());
}
DistributedDataParallelBase::~DistributedDataParallelBase() { *reducer_handle_ = nullptr; }
void DistributedDataParallelBase::register_comm_hook(CommHook hook) { reducer_->register_comm_hook(std::move(hook)); }

NamedParameters DistributedDataParallelBase::remove_ignored_parameters(const NamedParameters& all) const {
  const std::vector<std::string>& ignored = options_.parameters_to_ignore();
  if (ignored.empty()) return all;
  NamedParameters out;
  for (const auto& item : all)
    if (std::find(ignored.begin(), ignored.end(), item.key()) == ignored.end()) out.insert(item.key(), item.value());
  return out;
}
void DistributedDataParallelBase::check_parameters_to_ignore() const {
  if (options_.parameters_to_ignore().empty()) return;
  const NamedParameters parameters = wrapped_module_->named_parameters(), buffers = wrapped_module_->named_buffers();
  for (const std::string& name : options_.parameters_to_ignore())
    TANDEM_CHECK(parameters.contains(name) || buffers.contains(name),
                 "DistributedDataParallel: parameters_to_ignore has ", name,
                 ", which is not a parameter or buffer of the module");
}
std::vector<Tensor> DistributedDataParallelBase::module_states() const {
  std::vector<Tensor> all = parameters_when_wrapped_.values();
  for (const Tensor& buffer : remove_ignored_parameters(wrapped_module_->named_buffers()).values())
    all.push_back(buffer);
  return all;
}

void DistributedDataParallelBase::check_same_model() const {
  const std::string mine =
      describe_tensors(parameters_when_wrapped_, remove_ignored_parameters(wrapped_module_->named_buffers()));
  const Device device = group_->device();
  const auto all_gather_to_cpu = [&](const Tensor& own, const char* about) {
    std::vector<Tensor> all;
    all.reserve(static_cast<size_t>(group_->size()));
    for (int r = 0; r < group_->size(); ++r)
      all.push_back(empty(own.sizes(), TensorOptions(own.dtype()).device(device)));
    // synchronize() throws if the collective has failed, before the result is read
    group_->all_gather(all, own.to(device), about)->synchronize();
    for (Tensor& t : all) t = t.cpu();
    return all;
  };
  const std::vector<Tensor> lengths =
      all_gather_to_cpu(full({1}, static_cast<int64_t>(mine.size()), kInt64), "the length of the model's description");
  int64_t longest = 0;
  for (const Tensor& length : lengths) longest = std::max(longest, length.item<int64_t>());
  const Tensor text = zeros({longest}, kUInt8);
  std::memcpy(text.raw_data(), mine.data(), mine.size());
  const std::vector<Tensor> texts = all_gather_to_cpu(text, "the model's description");
  const auto rank_description = [&](size_t r) {
    return std::string(static_cast<const char*>(texts[r].raw_data()), static_cast<size_t>(lengths[r].item<int64_t>()));
  };
  const std::string first = rank_description(0);
  for (size_t r = 1; r < texts.size(); ++r) {
    const std::string other = rank_description(r);
    for (size_t i = 0; other != first; ++i)
      TANDEM_CHECK(nth_line(first, i) == nth_line(other, i),
                   "DistributedDataParallel: DDP expects same model across all ranks, but Rank 0 has ",
                   nth_line(first, i), ", while rank ", r, " has ", nth_line(other, i));
  }
}

void DistributedDataParallelBase::broadcast_tensors(const std::vector<Tensor>& tensors, const std::string& about,
                                                    int source) const {
  if (group_->size() == 1) return;
  const NoGradGuard guard;
  std::map<DType, std::vector<Tensor>> by_dtype;
  for (const Tensor& t : tensors) by_dtype[t.dtype()].push_back(t.detach());
  std::vector<Tensor> together;  // the values of `tensors`, in one flat tensor per dtype
  for (const auto& entry : by_dtype) {
    std::vector<Tensor> flat;
    flat.reserve(entry.second.size());
    for (const Tensor& t : entry.second) flat.push_back(t.reshape({-1}));
    together.push_back(flat.size() == 1 ? flat[0].contiguous() : cat(flat));
  }
  std::vector<distributed::WorkPtr> works;
  {
    const distributed::CoalescingGuard at_once(*group_);
    for (const Tensor& t : together) works.push_back(group_->broadcast(t, source, ddp_name_ + ": " + about));
  }
  for (const distributed::WorkPtr& work : works) work->wait();
  if (group_->rank() == source) return;
  auto next = together.begin();
  for (auto& entry : by_dtype) {
    int64_t at = 0;
    for (Tensor& t : entry.second) {
      t.copy_(next->narrow(0, at, t.numel()).view(t.sizes()));
      at += t.numel();
    }
    ++next;
  }
}

void DistributedDataParallelBase::check_parameters_unchanged() const {
  const auto& wrapped_parameters = parameters_when_wrapped_;
  const bool is_same =
      options_.parameters_to_ignore().empty() && has_same_parameters(*wrapped_module_, wrapped_parameters);
  const NamedParameters others =
      is_same ? NamedParameters() : remove_ignored_parameters(wrapped_module_->named_parameters());
  const NamedParameters& now = is_same ? wrapped_parameters : others;
  for (size_t i = 0; i < std::max(now.size(), wrapped_parameters.size()); ++i) {
    TANDEM_CHECK(
        i < now.size() && i < wrapped_parameters.size() && now[i].value().is_same(wrapped_parameters[i].value()),
        "DistributedDataParallel: the module's parameter ", i, " is ", i < now.size() ? now[i].key() : "missing",
        ", but was ", i < wrapped_parameters.size() ? wrapped_parameters[i].key() : "missing",
        " when the module was wrapped; wrap the module again after changing its parameters");
    TANDEM_CHECK(now[i].value().device() == device_, "DistributedDataParallel: ", now[i].key(), " is on ",
                 now[i].value().device(), ", but was on ", device_,
                 " when the module was wrapped; move a module before wrapping it");
    TANDEM_CHECK(
        !frozen_when_wrapped_[i] || !now[i].value().requires_grad(), "DistributedDataParallel: ", now[i].key(),
        " requires a gradient now, but was frozen when the module was wrapped; freeze parameters after wrapping "
        "the module, or wrap it again");
  }
}

void DistributedDataParallelBase::set_weight(double weight) {
  TANDEM_CHECK(options_.weighted_average(),
               "DistributedDataParallel::set_weight: requires weighted_average(true) in its options");
  TANDEM_CHECK(std::isfinite(weight) && weight >= 0, "DistributedDataParallel::set_weight: the weight is ", weight,
               "; accepted: a finite number that is not negative");
  next_weight_ = weight;
}

detail::ForwardStatePtr DistributedDataParallelBase::pre_forward(int64_t examples) {
  // activation checkpointing runs this forward again, after it was counted
  if (autograd::is_recomputing()) return nullptr;
  forward_start_time_ = std::chrono::steady_clock::now();
  check_parameters_unchanged();
  const bool records_grad = is_grad_enabled();
  const double weight = std::exchange(next_weight_, {}).value_or(static_cast<double>(examples));
  const int source = join_ ? join_->notify_join_context(*this, records_grad && require_backward_grad_sync_) : 0;
  if (records_grad) check_parameters();
  sync_buffers(source);
  buffers_may_differ_ = records_grad && require_backward_grad_sync_;
  return records_grad ? reducer_->begin_forward(require_backward_grad_sync_, options_.weighted_average() ? weight : 0)
                      : nullptr;
}
void DistributedDataParallelBase::sync_buffers(int source) {
  if (!buffers_may_differ_ || buffers_to_sync_.empty()) return;
  const PhaseSpan phase("exposed communication");
  broadcast_tensors(buffers_to_sync_, "buffers of rank " + std::to_string(source), source);
}
void DistributedDataParallelBase::skip_batch() {
  TANDEM_CHECK(options_.weighted_average(),
               "DistributedDataParallel::skip_batch: requires weighted_average(true) in its options");
  TANDEM_CHECK(
      is_grad_enabled() && require_backward_grad_sync_,
      "DistributedDataParallel::skip_batch: not allowed under no_sync() or NoGradGuard, where the other ranks do "
      "not wait for this rank");
  pre_forward(0);
  reducer_->shadow_backward();
}

namespace {
/// Node that passes the gradient of an output on unchanged, and calls start(). A second derivative passes through this
/// node, but not through the output and its hook.
class OutputGradNode final : public autograd::Node {
 public:
  explicit OutputGradNode(std::function<void()> start) : Node("DistributedDataParallel"), start_(std::move(start)) {}
  autograd::Grads apply(autograd::Grads&& grads) override {
    start_();
    return std::move(grads);
  }

 private:
  std::function<void()> start_;
};
}  // namespace

/// Registers a hook on an output, by which a backward through the output starts the reduction. The end of that backward
/// then waits for all buckets, even if it reaches no parameter of the module.
void DistributedDataParallelBase::register_output_hook(const Tensor& output, const ForwardStatePtr& forward) const {
  const auto start = [reducer_handle = reducer_handle_, forward] {
    if (*reducer_handle) (*reducer_handle)->start_backward(forward);
  };
  output.register_hook([start](const Tensor& grad) -> Tensor {
    start();
    if (!is_grad_enabled()) return {};
    Tensor passed = core::alias(grad);
    autograd::connect_node(std::make_shared<OutputGradNode>(start), {&passed}, ArrayRef<Tensor>(grad), {});
    return passed;
  });
  // If `output` is a view that is changed in place, its base gets a new history. A backward through it does not pass
  // the node of the view, so the base needs a hook too.
  const Tensor& base = autograd::materialize_autograd_meta(output).base;
  if (base.defined() && base.grad_fn() && base.grad_fn()->sequence_nr() >= forward->first_sequence_number)
    base.register_hook([start](const Tensor&) { start(); });
}
void DistributedDataParallelBase::post_forward(const ForwardStatePtr& forward, const std::vector<Tensor>& outputs) {
  if (!forward) return;
  bool any = false;
  for (const Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    any = true;
    if (output.is_leaf())
      forward->has_no_output_hook = true;
    else
      register_output_hook(output, forward);
  }
  if (!any) forward->has_no_output_hook = true;
  if (require_backward_grad_sync_)
    logging_.forward_time =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - forward_start_time_).count();
}

}  // namespace tandem::nn::parallel
