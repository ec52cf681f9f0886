#include "tandem/parallel/distributed_data_parallel.h"

#include <cstring>
#include <map>

#include "tandem/core/tracer.h"
#include "tandem/nn/same_parameters.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/index.h"

namespace tandem::nn::parallel {
namespace {

/// "fc1.weight float32 (128, 784)" for each parameter and buffer, a line each.
std::string description(const Module& module) {
  std::ostringstream out;
  const auto list = [&](const NamedParameters& tensors, const char* kind) {
    for (const auto& item : tensors)
      out << kind << " " << item.key() << " " << item.value().dtype() << " " << item.value().sizes()
          << (item.value().requires_grad() ? "" : ", frozen") << "\n";
  };
  list(module.named_parameters(), "parameter");
  list(module.named_buffers(), "buffer");
  return out.str();
}
std::string line(const std::string& text, size_t number) {
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
      number_("DDP " + std::to_string(group_->next_user())),
      wrapped_(register_module("module", module)),
      parameters_when_wrapped_(module->named_parameters()) {
  const NamedParameters& parameters = parameters_when_wrapped_;
  const NamedParameters buffers = module->named_buffers();
  bool known = false;
  for (const NamedParameters* list : {&parameters, &buffers})
    for (const auto& item : *list) {
      if (!known) device_ = item.value().device();
      known = true;
      TANDEM_CHECK(item.value().device() == device_, "DistributedDataParallel: ", item.key(), " is on ",
                   item.value().device(), " but the tensors before it are on ", device_,
                   "; accepted: a module on one device");
    }
  for (const Tensor& p : parameters.values()) frozen_when_wrapped_.push_back(!p.requires_grad());
  check_same_model(*module);
  std::vector<Tensor> all = parameters.values();
  for (const Tensor& buffer : buffers.values()) all.push_back(buffer);
  broadcast(all, "the model of rank 0");
  if (options.broadcast_buffers()) buffers_to_follow_ = buffers.values();
  const int64_t every = options.check_parameters_every();
  TANDEM_CHECK(every >= 0, "DistributedDataParallel: check_parameters_every is ", every,
               "; accepted: a number of forwards, or 0 for never");
  ReducerOptions reducer;
  reducer.bucket_bytes = bucket_bytes();
  reducer.first_bucket_bytes = std::min(reducer.first_bucket_bytes, reducer.bucket_bytes);
  reducer.find_unused_parameters = options.find_unused_parameters();
  reducer.gradient_as_bucket_view = options.gradient_as_bucket_view();
  reducer_ = std::make_unique<Reducer>(number_, parameters, group_, reducer);
  logging_.bucket_cap_bytes = reducer.bucket_bytes, logging_.first_bucket_bytes = reducer.first_bucket_bytes;
  watched_ = std::make_shared<Reducer*>(reducer_.get());
}
DistributedDataParallelBase::~DistributedDataParallelBase() { *watched_ = nullptr; }

void DistributedDataParallelBase::check_same_model(const Module& module) const {
  const std::string mine = description(module);
  const Device device = group_->device();
  const auto gathered = [&](const Tensor& own, const char* about) {
    std::vector<Tensor> all;
    all.reserve(static_cast<size_t>(group_->size()));
    for (int r = 0; r < group_->size(); ++r)
      all.push_back(empty(own.sizes(), TensorOptions(own.dtype()).device(device)));
    group_->all_gather(all, own.to(device), about)->synchronize();  // throws before anything is read that did not come
    for (Tensor& t : all) t = t.cpu();
    return all;
  };
  const std::vector<Tensor> lengths =
      gathered(full({1}, static_cast<int64_t>(mine.size()), kInt64), "the length of the model's description");
  int64_t longest = 0;
  for (const Tensor& length : lengths) longest = std::max(longest, length.item<int64_t>());
  const Tensor text = zeros({longest}, kUInt8);
  std::memcpy(text.raw_data(), mine.data(), mine.size());
  const std::vector<Tensor> texts = gathered(text, "the model's description");
  const auto of_rank = [&](size_t r) {
    return std::string(static_cast<const char*>(texts[r].raw_data()), static_cast<size_t>(lengths[r].item<int64_t>()));
  };
  const std::string first = of_rank(0);
  for (size_t r = 1; r < texts.size(); ++r) {
    const std::string other = of_rank(r);
    for (size_t i = 0; other != first; ++i)
      TANDEM_CHECK(line(first, i) == line(other, i),
                   "DistributedDataParallel: the ranks have different models: rank 0 has ", line(first, i),
                   ", but rank ", r, " has ", line(other, i));
  }
}

void DistributedDataParallelBase::broadcast(const std::vector<Tensor>& tensors, const std::string& about) const {
  if (group_->size() == 1) return;
  const NoGradGuard guard;
  std::map<DType, std::vector<Tensor>> by_dtype;
  for (const Tensor& t : tensors) by_dtype[t.dtype()].push_back(t.detach());
  std::vector<Tensor> together;  // by dtype
  for (const auto& entry : by_dtype) {
    std::vector<Tensor> flat;
    flat.reserve(entry.second.size());
    for (const Tensor& t : entry.second) flat.push_back(t.reshape({-1}));
    together.push_back(flat.size() == 1 ? flat[0].contiguous() : cat(flat));
  }
  std::vector<distributed::WorkPtr> works;
  {
    const distributed::CoalescingGuard at_once(*group_);
    for (const Tensor& t : together) works.push_back(group_->broadcast(t, 0, number_ + ": " + about));
  }
  for (const distributed::WorkPtr& work : works) work->wait();
  if (group_->rank() == 0) return;
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

void DistributedDataParallelBase::check_unchanged() const {
  const auto& then = parameters_when_wrapped_;
  const bool is_same = has_parameters(*wrapped_, then);
  const NamedParameters others = is_same ? NamedParameters() : wrapped_->named_parameters();
  const NamedParameters& now = is_same ? then : others;
  for (size_t i = 0; i < std::max(now.size(), then.size()); ++i) {
    TANDEM_CHECK(i < now.size() && i < then.size() && now[i].value().is_same(then[i].value()),
                 "DistributedDataParallel: the module's parameter ", i, " is ",
                 i < now.size() ? now[i].key() : "no more", ", and was ", i < then.size() ? then[i].key() : "not there",
                 " when the module was wrapped; wrap a module when its parameters are complete, or anew");
    TANDEM_CHECK(now[i].value().device() == device_, "DistributedDataParallel: ", now[i].key(), " is on ",
                 now[i].value().device(), ", and was on ", device_,
                 " when the module was wrapped; move a module before it "
                 "is wrapped");
    TANDEM_CHECK(!frozen_when_wrapped_[i] || !now[i].value().requires_grad(), "DistributedDataParallel: ", now[i].key(),
                 " requires a gradient now, and was frozen when the module was wrapped; wrap a module before "
                 "some of its parameters are frozen, or anew");
  }
}

detail::Learning DistributedDataParallelBase::before_forward() {
  forward_start_ = std::chrono::steady_clock::now();
  check_unchanged();
  Learning learning;
  if (is_grad_enabled()) {
    check_parameters();
    learning = reducer_->begin(synchronize_);
  }
  if (buffers_may_differ_ && !buffers_to_follow_.empty()) {
    const PhaseSpan phase("exposed communication");
    broadcast(buffers_to_follow_, "buffers of rank 0");
  }
  buffers_may_differ_ = synchronize_ && is_grad_enabled();
  return learning;
}

void DistributedDataParallelBase::watch(const Tensor& output, const Learning& learning) {
  if (!output.defined() || !is_grad_enabled() || output.is_leaf()) return;
  output.register_hook([watched = watched_, learning](const Tensor&) {
    if (*watched) (*watched)->start_backward(learning);
  });
}

}  // namespace tandem::nn::parallel
