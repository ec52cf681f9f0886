// DataParallel: runs one module on several devices of this process, each with a part of the batch.
//
// One step over devices 0 to k-1, where device 0 holds the module:
//   forward   scatter     the rows of the inputs, spread evenly            shard r -> device r
//             replicate   the module's parameters and buffers              device 0 -> device r
//             apply       each replica to its shard, in parallel
//             gather      the rows of the outputs                          device r -> output device
//   backward  gather's    scatters the gradients of the outputs            output device -> device r
//             apply's     each replica's part of the graph, in parallel
//             replicate's adds up the parameters' gradients, device by device: ((g0 + g1) + g2) ...
//             scatter's   gathers the gradients of the inputs, if they require any
// Forward makes about 3 (k-1) transfers. The first device holds more than the others: the module, the whole batch, the
// outputs and the optimizer's state. loss() avoids the transfers of outputs and of their gradients.
#pragma once
#include <sstream>
#include <type_traits>

#include "tandem/core/generator.h"
#include "tandem/core/option.h"
#include "tandem/core/owned_ptr.h"
#include "tandem/core/tensor_tree.h"
#include "tandem/parallel/device_threads.h"
#include "tandem/parallel/parallel_loss.h"
#include "tandem/parallel/replicas.h"
#include "tandem/parallel/scatter_gather.h"
#include "tandem/parallel/wrapper_module.h"

namespace tandem::nn {
namespace parallel {

namespace detail {

/// Type in which an input is stored for one replica. An input that contains tensors is copied, and the copy holds the
/// shard; any other input is a reference to the original.
template <class T>
using ShardArgument = std::conditional_t<TensorTree<std::decay_t<T>>::kHasTensors, std::decay_t<T>, const T&>;

/// Appends the keys of maps to a list. visit_tensors() calls it for every tensor and map key.
struct MapKeyCollector {
  std::ostringstream& out;
  void operator()(const Tensor&) const {}
  template <class K> void operator()(const tandem::detail::MapKey<K>& at) const {
    out << (out.tellp() > 0 ? ", " : "") << at.key;
  }
};
/// Returns the keys of all maps inside `value`, separated by commas: "logits, hidden".
template <class T> std::string collect_map_keys(const T& value) {
  std::ostringstream out;
  tandem::detail::visit_tensors(value, MapKeyCollector{out});
  return out.str();
}

/// Argument type for a module that is given by handle, by shared pointer or by reference. A module given by reference
/// must outlive the objects that use it, unless a shared pointer owns it.
template <class M> struct ModuleRef {
  ModuleRef(std::shared_ptr<M> module) : ptr(std::move(module)) {}
  ModuleRef(const ModuleHolder<M>& module) : ptr(module.ptr()) {}
  // if a shared pointer owns the module, shares ownership with it
  ModuleRef(M& module) : ptr(module.weak_from_this().lock(), &module) {}
  std::shared_ptr<M> ptr;
};

template <class H> struct ModuleOf : tandem::detail::Contained<H> {};
template <class M> struct ModuleOf<std::shared_ptr<M>> { using type = M; };
/// Type of the module behind a handle, a shared pointer or a reference.
template <class H> using ModuleOfT = typename ModuleOf<std::remove_cvref_t<H>>::type;

/// True if M defines clone(). The clone() inherited from Module only throws.
template <class M> inline constexpr bool kHasClone = !std::is_same_v<decltype(&M::clone), decltype(&Module::clone)>;

/// Checks `devices` and returns them. @throws Error if the list is empty, or if a device does not exist
std::vector<Device> validate_devices(std::vector<Device> devices);
/// Lists the devices with the numbers `ids`; if `ids` is empty, all devices. Their type is the type of the module's
/// device (the CPU if the module has no parameters and buffers).
std::vector<Device> devices_from_ids(const Module& module, const std::vector<int>& ids = {});
/// Properties of a device that describe_imbalance() compares.
struct DeviceCapacity {
  Device device;
  std::string name;
  int64_t memory;  // bytes
  int multi_processor_count;
};
/// Returns a warning if a device has less than three quarters of the memory or multiprocessors of another one,
/// otherwise an empty string.
std::string describe_imbalance(const std::vector<DeviceCapacity>& devices);
/// Prints the warning of describe_imbalance() to standard error if the devices are GPUs.
void check_balance(const std::vector<Device>& devices);
/// @throws Error unless chunk_sizes is empty, or has one positive number for each device
void check_chunk_sizes(const std::vector<int64_t>& chunk_sizes, size_t devices);
/// Returns module.clone(device), without using the caller's random number generator.
std::shared_ptr<Module> clone_to_device(const Module& module, Device device);

template <class M> std::vector<std::shared_ptr<M>> make_replicas(const M& module, const std::vector<Device>& devices) {
  static_assert(kHasClone<M>,
                "DataParallel builds its replicas with clone(), which this module lacks: write `struct Net : "
                "nn::Cloneable<Net>` and give it a reset(), or pass a factory after it, [](Device) -> shared_ptr<Net>");
  std::vector<std::shared_ptr<M>> replicas;
  replicas.reserve(devices.size());
  for (const Device device : devices) {
    replicas.push_back(std::dynamic_pointer_cast<M>(clone_to_device(module, device)));
    TANDEM_CHECK(replicas.back(), "DataParallel: clone() of ", module.name(),
                 " returned a module of another type; the class must derive from nn::Cloneable of itself");
  }
  return replicas;
}
template <class M>
std::vector<std::shared_ptr<Module>> to_module_pointers(const std::vector<std::shared_ptr<M>>& modules) {
  return {modules.begin(), modules.end()};
}
}  // namespace detail

struct DataParallelOptions {
  /// Dimension along which inputs are split and outputs are joined.
  TANDEM_ARG(int64_t, dim) = 0;
  /// Dimension along which each input is split, by position of the input. An input with std::nullopt goes to each
  /// replica whole. {0, std::nullopt, 1} splits the rows of the first input, passes the second on whole, and splits the
  /// columns of the third. Inputs without an entry are split along `dim`.
  TANDEM_ARG_DECLARED(std::vector<std::optional<int64_t>>, input_dims);
  /// Number of rows for each device, for devices of unequal speed. A batch of another size is split in the same
  /// proportion; each device gets at least one row. A batch with fewer rows than devices gives one row to each of the
  /// first devices. If empty, the batch is split evenly.
  TANDEM_ARG_DECLARED(std::vector<int64_t>, chunk_sizes);
  /// Numbers of the devices to use, such as {0, 2}, for a DataParallel that gets no list of devices. Their type is the
  /// type of the module's device. If empty, all devices of that type are used.
  TANDEM_ARG_DECLARED(std::vector<int>, device_ids);
  /// If true, values are copied to the other devices only if a version counter shows that they changed: parameters
  /// after an optimizer's step, buffers after a batch. This saves the copies in evaluation and while gradients are
  /// accumulated. Off by default, because a version counter does not see writes through data() or a raw pointer; such a
  /// write would have an effect on the first device only.
  TANDEM_ARG(bool, persistent_replicas) = false;
  /// If true, each call builds new replicas, as LibTorch does, so that they follow every member of the module (see
  /// DataParallel::refresh). Each call then costs a clone() or a call of the factory on every device but the first.
  TANDEM_ARG(bool, clone_each_call) = false;
};

/// Applies a module to batches whose rows are split over devices, as torch.nn.DataParallel. The parameters are the
/// module's own, under names such as "module.fc1.weight", and receive the sum of the gradients of all devices. They are
/// trained as usual.
///
///   DataParallel dp(net, {"cpu:0", "cpu:1"});
///   cross_entropy(dp(x), target).backward();                // x may be on any device; the output is on cpu:0
///   dp.loss(nn::CrossEntropyLoss(), x, target).backward();  // the same loss, computed on each replica's device
///
/// On the first device the module itself runs on shard 0, so the members that its forward writes keep their values. The
/// replicas on the other devices are built once, by clone() or by a factory. From then on their parameters, buffers,
/// requires_grad, train() and hooks follow the module. Plain members, such as a factor or the probability of a dropout,
/// follow only when refresh() is called, or in every call with clone_each_call, because only clone() knows them and
/// costs more than most steps. Members that a replica's forward writes are not copied back. Each replica sees only its
/// shard: batch norm uses the statistics of the shard, and the module keeps the running statistics of the first device.
/// Shard r draws random numbers from stream r (DeviceThreads::run). Calls must not overlap; several calls may precede a
/// backward.
template <class M> class DataParallel : public detail::WrapperModule {
 public:
  using ModuleType = detail::ModuleOfT<M>;
  using Factory = std::function<std::shared_ptr<ModuleType>(Device)>;

  /// Uses the devices of options.device_ids(), or all devices of the module's type if there are none.
  explicit DataParallel(detail::ModuleRef<ModuleType> module, const DataParallelOptions& options = {})
      : DataParallel(module, detail::devices_from_ids(*module.ptr, options.device_ids()), {},
                     DataParallelOptions(options).device_ids({})) {}
  /// Uses the given devices.
  /// @param module         must be on the first of `devices`
  /// @param output_device  device of the outputs; by default the first device
  /// @throws Error         if a tensor of the module is on another device, naming it, or if a device does not exist
  DataParallel(detail::ModuleRef<ModuleType> module, std::vector<Device> devices,
               std::optional<Device> output_device = {}, DataParallelOptions options = {})
      : DataParallel(module.ptr, detail::validate_devices(std::move(devices)), output_device, options,
                     [net = module.ptr](const std::vector<Device>& on) { return detail::make_replicas(*net, on); }) {}
  /// Builds the replicas by `factory(device)`, for modules without clone(). Values of parameters and buffers are copied
  /// from the module.
  DataParallel(detail::ModuleRef<ModuleType> module, const Factory& factory, std::vector<Device> devices,
               std::optional<Device> output_device = {}, DataParallelOptions options = {})
      : DataParallel(module.ptr, detail::validate_devices(std::move(devices)), output_device, options,
                     [factory](const std::vector<Device>& on) {
                       // keeps the factory from using the caller's random numbers
                       Generator scratch;
                       const GeneratorGuard guard(scratch);
                       std::vector<std::shared_ptr<ModuleType>> replicas;
                       replicas.reserve(on.size());
                       for (const Device device : on) {
                         replicas.push_back(factory(device));
                         TANDEM_CHECK(replicas.back(), "DataParallel: the factory returned a null module for ", device,
                                      "; accepted: a module on that device");
                       }
                       return replicas;
                     }) {}

  /// Rebuilds the replicas from the module. Call this after a change of plain members or child modules.
  void refresh() {
    replicas_ = make_replicas_({devices_.begin() + 1, devices_.end()});
    replicas_.insert(replicas_.begin(), module_);
    replica_tensors_ =
        tandem::detail::OwnedPtr(new detail::Replicas(*module_, detail::to_module_pointers(replicas_), devices_));
  }

  /// Calls module(inputs...), hooks included, on each shard. Tensors in the inputs are split along one dimension each
  /// (options.input_dims()); they may also be inside vectors, pairs, tuples, optionals, maps and structs with
  /// tensor_parts() (core/tensor_tree.h). Scalar tensors and values that are not tensors go to each replica whole, the
  /// latter by const reference.
  /// @return the outputs of all replicas, joined; scalars become a vector. Members of a struct that are not tensors
  /// come from the first replica
  /// @throws Error if no input has rows, if the numbers of rows differ, or if the replicas return maps with different
  /// keys. An exception of a replica, in forward or in backward, is thrown again with the replica's device
  template <class... Inputs> auto forward(const Inputs&... inputs) {
    const auto outputs = apply_to_shards(
        [](ModuleType& net, const auto&... shard) { return tandem::detail::call_module(net, shard...); }, inputs...);
    using Output = typename std::decay_t<decltype(outputs)>::value_type;
    static_assert(TensorTree<Output>::kHasOnlyTensors,
                  "DataParallel gathers what forward() returns: a tensor, or a vector, pair, tuple or map of tensors, "
                  "or a struct with tensor_parts()");
    std::vector<std::vector<Tensor>> shards;
    shards.reserve(outputs.size());
    const std::string keys = detail::collect_map_keys(outputs[0]);
    for (const Output& output : outputs) {
      TANDEM_CHECK(detail::collect_map_keys(output) == keys, "DataParallel: replica 0 returned {", keys,
                   "} and replica ", shards.size(), " {", detail::collect_map_keys(output),
                   "}; all must return the same keys");
      shards.push_back(tandem::detail::collect_tree_tensors(output));
    }
    return tandem::detail::replace_tensors(outputs[0], detail::gather_batch(shards, output_device_, options_.dim()));
  }
  /// Calls forward(inputs...) with the hooks of this wrapper.
  template <class... Inputs> auto operator()(const Inputs&... inputs) {
    return tandem::detail::call_module(*this, inputs...);
  }

  /// Returns the loss of a batch. Each replica computes a LossPart for its shard: the sum of the shard's losses, and
  /// their weight (the number of losses, or the sum of their class weights). The loss of the batch is (sum of the sums)
  /// / (sum of the weights). The result is the batch's true mean even with shards of different sizes, ignored targets
  /// or class weights.
  /// @param loss_fn  a loss module such as nn::CrossEntropyLoss, or a function of (output, target) that returns a
  ///                 LossPart
  /// @param inputs_and_target  the arguments of forward(), then the target, which is split along with them
  template <class Loss, class... InputsAndTarget>
  Tensor loss(const Loss& loss_fn, const InputsAndTarget&... inputs_and_target) {
    static_assert(sizeof...(InputsAndTarget) >= 2, "loss(loss_fn, inputs..., target)");
    const auto part = [&loss_fn](ModuleType& net, const auto&... shard) -> LossPart {
      const auto all = std::tie(shard...);
      return [&]<size_t... I>(std::index_sequence<I...>) {
        const auto output = tandem::detail::call_module(net, std::get<I>(all)...);
        const auto& target = std::get<sizeof...(I)>(all);
        static_assert(
            requires { detail::loss_part(loss_fn, output, target); },
            "loss(loss_fn, inputs..., target): loss_fn(output, target) must return a LossPart, that is a sum "
            "and a weight, or be a loss module such as nn::CrossEntropyLoss");
        return detail::loss_part(loss_fn, output, target);
      }
      (std::make_index_sequence<sizeof...(shard) - 1>());
    };
    return detail::total_loss(apply_to_shards(part, inputs_and_target...), output_device_);
  }

  /// Splits the inputs into shards, and returns the result of call(replica, shard...) for every shard, in the order of
  /// the devices. The calls run at the same time. forward() and loss() are made of it; a program can call another
  /// function of the module with it.
  /// @param call  function of (ModuleType&, const Inputs&...)
  template <class Call, class... Inputs> auto apply_to_shards(const Call& call, const Inputs&... inputs) {
    using Shard = std::tuple<detail::ShardArgument<Inputs>...>;
    using Result =
        std::decay_t<std::invoke_result_t<const Call&, ModuleType&, const detail::ShardArgument<Inputs>&...>>;
    const Shard whole(inputs...);
    const std::vector<std::vector<Tensor>> tensors = detail::scatter_batch(
        tandem::detail::collect_tree_tensors(whole), scatter_dims(inputs...), devices_, options_.chunk_sizes());
    std::vector<Shard> shards;
    shards.reserve(tensors.size());
    for (const std::vector<Tensor>& of_shard : tensors)
      shards.push_back(tandem::detail::replace_tensors(whole, of_shard));
    if (options_.clone_each_call()) refresh();
    const detail::HistorySwapGuard history =
        replica_tensors_->update_replicas(shards.size(), options_.persistent_replicas());
    std::vector<Result> results(shards.size());
    device_threads_.run_on_devices(shards.size(), [&](size_t r) {
      results[r] = std::apply([&](const auto&... each) { return call(*replicas_[r], each...); }, shards[r]);
    });
    return results;
  }

  /// Returns the wrapped module, whose parameters are trained.
  const std::shared_ptr<ModuleType>& module() const { return module_; }
  /// Returns the module on each device; the first one is the wrapped module itself.
  const std::vector<std::shared_ptr<ModuleType>>& replicas() const { return replicas_; }
  /// Returns the devices; the first one holds the module.
  const std::vector<Device>& devices() const { return devices_; }
  /// Returns the device of outputs and losses.
  Device output_device() const { return output_device_; }

 private:
  using ReplicaFactory = std::function<std::vector<std::shared_ptr<ModuleType>>(const std::vector<Device>&)>;
  DataParallel(std::shared_ptr<ModuleType> module, std::vector<Device> devices, std::optional<Device> output_device,
               const DataParallelOptions& options, ReplicaFactory make)
      : WrapperModule("DataParallel"),
        module_(register_module("module", std::move(module))),
        devices_(std::move(devices)),
        output_device_(output_device.value_or(devices_[0])),
        options_(options),
        make_replicas_(std::move(make)),
        device_threads_(devices_) {
    tandem::detail::check_device_exists(output_device_);
    TANDEM_CHECK(options_.device_ids().empty(), "DataParallel: both a list of devices and device_ids are given; ",
                 "accepted: one of the two");
    detail::check_chunk_sizes(options_.chunk_sizes(), devices_.size());
    if (options_.chunk_sizes().empty()) detail::check_balance(devices_);
    refresh();
  }

  /// Returns, for each tensor in the inputs, the dimension along which it is split.
  template <class... Inputs> std::vector<std::optional<int64_t>> scatter_dims(const Inputs&... inputs) const {
    const std::vector<std::optional<int64_t>>& given = options_.input_dims();
    TANDEM_CHECK(given.size() <= sizeof...(Inputs), "DataParallel: input_dims has ", given.size(),
                 " entries, but the number of inputs is ", sizeof...(Inputs), "; accepted: at most one for each input");
    std::vector<std::optional<int64_t>> dims;
    size_t position = 0;
    const auto add = [&](const auto& input) {
      const auto dim = position < given.size() ? given[position] : std::optional(options_.dim());
      ++position;
      dims.insert(dims.end(), tandem::detail::collect_tree_tensors(input).size(), dim);
    };
    (add(inputs), ...);
    return dims;
  }

  std::shared_ptr<ModuleType> module_;
  std::vector<Device> devices_;
  Device output_device_;
  DataParallelOptions options_;
  ReplicaFactory make_replicas_;
  std::vector<std::shared_ptr<ModuleType>> replicas_;  // replica for each device; the first one is the module itself
  tandem::detail::OwnedPtr<detail::Replicas> replica_tensors_;
  detail::DeviceThreads device_threads_;
};

template <class H> DataParallel(H&&, DataParallelOptions = {}) -> DataParallel<detail::ModuleOfT<H>>;
template <class H>
DataParallel(H&&, std::vector<Device>, std::optional<Device> = {}, DataParallelOptions = {})
    -> DataParallel<detail::ModuleOfT<H>>;
template <class H, class F>
DataParallel(H&&, F, std::vector<Device>, std::optional<Device> = {}, DataParallelOptions = {})
    -> DataParallel<detail::ModuleOfT<H>>;

}  // namespace parallel

using parallel::DataParallel;
using parallel::DataParallelOptions;

}  // namespace tandem::nn
