// Implements Replicas: copies of a module whose parameters and buffers are refreshed before each step.
#include "tandem/parallel/replicas.h"

#include <algorithm>

#include "tandem/autograd/record.h"
#include "tandem/core/trace/tracer.h"

namespace tandem::nn::parallel {
namespace detail {
namespace {

/// Makes `target` an alias of `source` in place, and gives it the autograd history of `source`.
void make_alias_with_history(const Tensor& target, const Tensor& source) {
  TensorImpl& to = *target.impl();
  const TensorImpl& from = *source.impl();
  to.shallow_copy_from(from);
  to.own_version = from.own_version;
  autograd::AutogradMeta& meta = autograd::materialize_autograd_meta(target);
  meta.requires_grad = false;  // false, because the tensor is an output of a node and no leaf
  meta.grad_fn = autograd::grad_fn(source);
  meta.output_nr = meta.grad_fn ? autograd::get_autograd_meta(source)->output_nr : 0;
}

}  // namespace

HistorySwapGuard::~HistorySwapGuard() {
  for (const auto& [to, history] : swapped_tensors_) std::swap(to.impl()->autograd, history.impl()->autograd);
}
void HistorySwapGuard::swap_history(const Tensor& to, const Tensor& history) {
  std::swap(to.impl()->autograd, history.impl()->autograd);
  swapped_tensors_.emplace_back(to, history);
}

ReplicatedTensors::ReplicatedTensors(const NamedParameters& originals, std::vector<Device> devices,
                                     bool module_is_replica)
    : tensor_names_(originals.keys()),
      originals_(originals.values()),
      devices_(std::move(devices)),
      module_is_replica_(module_is_replica),
      replicas_(devices_.size()),
      replica_tensors_(devices_.size()) {
  check_on_first_device();
}

void ReplicatedTensors::check_on_first_device() const {
  for (size_t i = 0; i < originals_.size(); ++i)
    TANDEM_CHECK(originals_[i].device() == devices_[0],
                 "DataParallel: module must have its parameters and buffers on device ", devices_[0],
                 " (device_ids[0]) but found one of them on device: ", originals_[i].device(), " ('", tensor_names_[i],
                 "'); move the module with to(), or put its device first in the list");
}

bool ReplicatedTensors::add_replica_tensor(size_t replica, const Tensor& original, const Tensor& tensor) {
  for (size_t i = 0; i < originals_.size(); ++i) {
    if (!originals_[i].is_same(original)) continue;
    replica_tensors_[replica].emplace_back(i, tensor);
    return true;
  }
  return false;
}

bool ReplicatedTensors::is_stale(const DeviceReplicas& copies, size_t i) const {
  return copies.versions.empty() || copies.original_versions[i] != originals_[i]._version() ||
         copies.versions[i] != copies.buffers.tensors()[i]._version();
}

void ReplicatedTensors::copy_to_replicas(size_t count, bool persistent_replicas) {
  FlatBuffers packed;  // copies of all originals on the first device, made when a device first needs a transfer
  for (size_t r = 1; r < count; ++r) {
    DeviceReplicas& copies = replicas_[r];
    if (!copies.buffers.has_same_layout(originals_)) copies = {FlatBuffers(originals_, devices_[r]), {}, {}};
    std::vector<bool> changes(originals_.size());
    for (size_t i = 0; i < originals_.size(); ++i) changes[i] = is_stale(copies, i);
    if (persistent_replicas && std::find(changes.begin(), changes.end(), true) == changes.end()) continue;
    if (packed.tensors().empty()) {
      packed = FlatBuffers(originals_, devices_[0]);
      packed.pack(originals_);
    }
    copies.buffers.copy_from(packed);
    copies.original_versions.resize(originals_.size()), copies.versions.resize(originals_.size());
    for (size_t i = 0; i < originals_.size(); ++i) {
      const Tensor& copy = copies.buffers.tensors()[i];
      if (changes[i]) copy.bump_version();
      copies.original_versions[i] = originals_[i]._version(), copies.versions[i] = copy._version();
    }
  }
}

HistorySwapGuard ReplicatedTensors::update_replicas(size_t count, bool persistent_replicas) {
  HistorySwapGuard history_guard;
  if (originals_.empty()) return history_guard;
  check_on_first_device();
  if (module_is_replica_ && count == 1) return history_guard;
  copy_to_replicas(count, persistent_replicas);
  // new aliases of the originals and of their copies; autograd records the broadcast on these aliases
  std::vector<std::vector<Tensor>> aliases(count);
  for (size_t r = 0; r < count; ++r) {
    aliases[r].reserve(originals_.size());
    for (const Tensor& t : r == 0 ? originals_ : replicas_[r].buffers.tensors()) aliases[r].push_back(core::alias(t));
  }
  record_broadcast(originals_, aliases);
  for (size_t r = 0; r < count; ++r)
    for (const auto& [i, tensor] : replica_tensors_[r]) make_alias_with_history(tensor, aliases[r][i]);
  if (module_is_replica_)
    for (size_t i = 0; i < originals_.size(); ++i)
      if (autograd::grad_fn(aliases[0][i])) history_guard.swap_history(originals_[i], aliases[0][i]);
  return history_guard;
}

}  // namespace detail

Replicas::Replicas(const Module& module, std::vector<std::shared_ptr<Module>> replicas, std::vector<Device> devices)
    : replicas_(std::move(replicas)),
      parameters_(module.named_parameters(), devices, replicas_[0].get() == &module),
      buffers_(module.named_buffers(), devices, replicas_[0].get() == &module),
      module_replicas_(replicas_.size()) {
  const NamedParameters originals = module.state_dict();
  const auto submodules = module.named_modules();
  for (size_t r = 0; r < replicas_.size(); ++r) {
    if (replicas_[r].get() == &module) continue;
    const NamedParameters tensors = replicas_[r]->state_dict();
    for (const auto& item : tensors)
      TANDEM_CHECK(originals.contains(item.key()), "DataParallel: the replica for ", devices[r], " has '", item.key(),
                   "', which the module does not have; both must have the same tensors");
    for (const auto& item : originals) {
      const Tensor* const tensor = tensors.find(item.key());
      TANDEM_CHECK(tensor && tensor->sizes() == item->sizes(), "DataParallel: the replica for ", devices[r],
                   tensor ? " has a different shape for '" : " lacks '", item.key(), "', which is ", item->sizes(),
                   " in the module; both must have the same tensors");
      if (!parameters_.add_replica_tensor(r, item.value(), *tensor))
        buffers_.add_replica_tensor(r, item.value(), *tensor);
    }
    module_replicas_[r].emplace_back(&module, replicas_[r].get());
    const auto own = replicas_[r]->named_modules();
    for (const auto& item : submodules)
      if (const auto* const same = own.find(item.key())) module_replicas_[r].emplace_back(item->get(), same->get());
  }
}

detail::HistorySwapGuard Replicas::update_replicas(size_t count, bool persistent_replicas) {
  const PhaseSpan phase("replicate");
  for (size_t r = 0; r < count; ++r)
    for (const auto& [original, copy] : module_replicas_[r]) {
      if (copy->is_training() != original->is_training()) copy->train(original->is_training());
      tandem::detail::ModuleAccess::sync_hooks(*copy, *original);
    }
  buffers_.update_replicas(count, persistent_replicas);
  return parameters_.update_replicas(count, persistent_replicas);
}

}  // namespace tandem::nn::parallel
