// Implements the broadcast and the addition of many tensors over devices: tensors are packed into flat buffers.
#include "tandem/parallel/broadcast.h"

#include <algorithm>

#include "tandem/core/trace/tracer.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/parallel/multi_device_node.h"
#include "tandem/parallel/scatter_gather.h"

namespace tandem::nn::parallel {
namespace detail {

/// Returns the number of elements that a tensor takes up in a buffer. Every tensor begins at a multiple of 64 elements:
/// this alignment lets kernels treat a view in a buffer like a tensor with memory of its own.
static int64_t padded_numel(const Tensor& t) { return (t.numel() + 63) / 64 * 64; }

FlatBuffers::FlatBuffers(const std::vector<Tensor>& like, Device device) : tensors_(like.size()) {
  std::vector<DType> dtypes;
  for (const Tensor& t : like)
    if (std::find(dtypes.begin(), dtypes.end(), t.dtype()) == dtypes.end()) dtypes.push_back(t.dtype());
  buffers_.reserve(dtypes.size());
  for (const DType dtype : dtypes) {
    int64_t total = 0, first = 0;
    for (const Tensor& t : like)
      if (t.dtype() == dtype) total += padded_numel(t);
    buffers_.push_back(core::empty({total}, dtype, device));
    for (size_t i = 0; i < like.size(); ++i) {
      if (like[i].dtype() != dtype) continue;
      tensors_[i] = core::as_strided(buffers_.back(), like[i].sizes(), core::preserved_strides(*like[i].impl()), first);
      tensors_[i].impl()->own_version = IntrusivePtr<VersionCounter>(new VersionCounter);
      first += padded_numel(like[i]);
    }
  }
}
void FlatBuffers::pack(const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) transfer_tensor(tensors[i], tensors_[i]);
}
void FlatBuffers::copy_from(const FlatBuffers& other) {
  for (size_t i = 0; i < buffers_.size(); ++i) transfer_tensor(other.buffers_[i], buffers_[i]);
}
bool FlatBuffers::has_same_layout(const std::vector<Tensor>& tensors) const {
  return std::equal(tensors.begin(), tensors.end(), tensors_.begin(), tensors_.end(),
                    [](const Tensor& a, const Tensor& b) {
                      return a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
                             (a.strides() == b.strides() || !core::is_non_overlapping_and_dense(*a.impl()));
                    });
}

void record_broadcast(const std::vector<Tensor>& tensors, const std::vector<std::vector<Tensor>>& copies) {
  std::vector<size_t> grad_indices;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (autograd::tensor_requires_grad(tensors[i])) grad_indices.push_back(i);
  if (grad_indices.empty()) return;
  std::vector<Tensor> inputs, outputs;  // outputs: all tensors on the first device, then all on the second, ...
  inputs.reserve(grad_indices.size()), outputs.reserve(grad_indices.size() * copies.size());
  for (const size_t i : grad_indices) inputs.push_back(tensors[i]);
  for (const std::vector<Tensor>& on_device : copies)
    for (const size_t i : grad_indices) outputs.push_back(on_device[i]);
  record_multi_device_node(
      "broadcast_coalesced", outputs, inputs, inputs[0].device(),
      [count = grad_indices.size(), home = inputs[0].device()](const autograd::Node&, autograd::Grads& grads) {
        const PhaseSpan phase("reduce");
        std::vector<std::vector<Tensor>> by_device;
        by_device.reserve(grads.size() / count);
        for (auto at = grads.begin(); at != grads.end(); at += static_cast<std::ptrdiff_t>(count))
          by_device.emplace_back(at, at + static_cast<std::ptrdiff_t>(count));
        return reduce_add_coalesced(by_device, home);
      });
}

/// Copies tensors to another device, into memory without gaps. Undefined tensors remain undefined.
static std::vector<Tensor> move_coalesced(const std::vector<Tensor>& tensors, Device device) {
  std::vector<Tensor> defined, out = tensors;
  for (const Tensor& t : tensors)
    if (t.defined()) defined.push_back(t);
  if (defined.empty() || defined[0].device() == device) return out;
  FlatBuffers here(defined, defined[0].device()), there(defined, device);
  here.pack(defined);
  there.copy_from(here);
  auto next = there.tensors().begin();
  for (Tensor& t : out)
    if (t.defined()) t = *next++;
  return out;
}

}  // namespace detail

std::vector<std::vector<Tensor>> broadcast_coalesced(const std::vector<Tensor>& tensors,
                                                     const std::vector<Device>& devices) {
  TANDEM_CHECK(!devices.empty(), "broadcast_coalesced: the list of devices is empty; accepted: one device or more");
  for (const Device device : devices) check_device_exists(device);
  for (const Tensor& t : tensors)
    TANDEM_CHECK(t.device() == tensors[0].device(),
                 "broadcast_coalesced: tensors must be on one device, but one is on ", t.device(), " and the first on ",
                 tensors[0].device());
  std::vector<std::vector<Tensor>> copies(devices.size());
  if (tensors.empty()) return copies;
  const Device home = tensors[0].device();
  const auto own = std::find(devices.begin(), devices.end(), home);
  detail::FlatBuffers packed;
  if (devices.size() > 1 || own == devices.end()) {
    packed = detail::FlatBuffers(tensors, home);
    packed.pack(tensors);
  }
  for (auto at = devices.begin(); at != devices.end(); ++at) {
    std::vector<Tensor>& on_device = copies[static_cast<size_t>(at - devices.begin())];
    if (at == own) {
      on_device.reserve(tensors.size());
      for (const Tensor& t : tensors) on_device.push_back(core::alias(t));
    } else {
      detail::FlatBuffers buffers(tensors, *at);
      buffers.copy_from(packed);
      on_device = buffers.tensors();
    }
  }
  detail::record_broadcast(tensors, copies);
  return copies;
}

std::vector<Tensor> reduce_add_coalesced(const std::vector<std::vector<Tensor>>& tensors, Device device) {
  TANDEM_CHECK(!tensors.empty(), "reduce_add_coalesced: there are no lists of tensors; accepted: one or more");
  const size_t count = tensors[0].size();
  std::vector<Tensor> sums(count), inputs;
  std::vector<bool> is_new(count, false);  // whether sums[i] is a new tensor, which may be changed in place
  std::vector<Device> devices;
  for (const std::vector<Tensor>& list : tensors) {
    TANDEM_CHECK(list.size() == count, "reduce_add_coalesced: list 0 holds ", count, " tensors and list ",
                 devices.size(), " holds ", list.size(), "; all lists must have the same length");
    const NoGradGuard guard;
    const std::vector<Tensor> here = detail::move_coalesced(list, device);
    const auto first = std::find_if(list.begin(), list.end(), [](const Tensor& t) { return t.defined(); });
    devices.push_back(first == list.end() ? device : first->device());
    for (size_t i = 0; i < count; ++i) {
      inputs.push_back(list[i]);
      if (!here[i].defined()) continue;
      if (!sums[i].defined()) {
        sums[i] = here[i];
        continue;
      }
      TANDEM_CHECK(here[i].sizes() == sums[i].sizes(), "reduce_add_coalesced: tensor ", i, " of list ",
                   devices.size() - 1, " is ", here[i].sizes(), ", but in the lists before it is ", sums[i].sizes(),
                   "; all lists must have the same sizes");
      sums[i] = is_new[i] ? sums[i].add_(here[i]) : sums[i] + here[i];
      is_new[i] = true;
    }
  }
  std::vector<size_t> recorded;  // indices of the sums with an addend that requires a gradient
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < count; ++i) {
    if (!is_grad_enabled() || std::none_of(tensors.begin(), tensors.end(), [i](const std::vector<Tensor>& list) {
          return autograd::tensor_requires_grad(list[i]);
        }))
      continue;
    // If there is only one addend, the sum is the addend itself: alias it, because the addend must keep its own
    // history.
    if (!is_new[i]) sums[i] = core::alias(sums[i]);
    recorded.push_back(i);
    outputs.push_back(sums[i]);
  }
  detail::record_multi_device_node(
      "reduce_add_coalesced", outputs, inputs, device,
      [recorded, count, devices](const autograd::Node&, autograd::Grads& grads) {
        const PhaseSpan phase("scatter");
        std::vector<Tensor> defined_grads;
        std::vector<size_t> indices;
        for (size_t o = 0; o < grads.size(); ++o)
          if (grads[o].defined()) defined_grads.push_back(grads[o]), indices.push_back(recorded[o]);
        const auto copies = broadcast_coalesced(defined_grads, devices);
        autograd::Grads out(devices.size() * count);
        for (size_t r = 0; r < devices.size(); ++r)
          for (size_t o = 0; o < indices.size(); ++o) out[r * count + indices[o]] = copies[r][o];
        return out;
      },
      devices);
  return sums;
}

}  // namespace tandem::nn::parallel
