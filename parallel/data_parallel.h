// DataParallel: one module on several devices of this process, each with a part of the batch.
//
// A step, over devices 0 to k-1, of which the first holds the module:
//   forward   scatter     the rows of the inputs, spread evenly            shard r -> device r
//             replicate   the module's parameters and buffers              device 0 -> device r
//             apply       each replica to its shard, side by side
//             gather      the rows of the outputs                          device r -> output device
//   backward  gather's    scatters the gradients of the outputs            output device -> device r
//             apply's     each replica's part of the graph, side by side
//             replicate's adds up the parameters' gradients, device by device: ((g0 + g1) + g2) ...
//             scatter's   gathers the gradients of the inputs, if they want any
// So 3 (k-1) transfers forward, and the first device holds more than the others: the module, the whole batch, the
// outputs, the optimizer's state. loss() saves the outputs' way there and back.
#pragma once
#include <sstream>
#include <type_traits>

#include "tandem/core/generator.h"
#include "tandem/core/option.h"
#include "tandem/core/owned.h"
#include "tandem/core/tensor_tree.h"
#include "tandem/parallel/device_threads.h"
#include "tandem/parallel/parallel_loss.h"
#include "tandem/parallel/replicas.h"
#include "tandem/parallel/scatter_gather.h"
#include "tandem/parallel/wrapper_module.h"

namespace tandem::nn {
namespace parallel {

namespace detail {

/// How an input is kept for a replica: cut, if it holds tensors, else as it is.
template <class T>
using ShardArgument = std::conditional_t<TensorTree<std::decay_t<T>>::kHolds, std::decay_t<T>, const T&>;

/// Lists the keys of maps.
struct KeyList {
  std::ostringstream& out;
  void operator()(const Tensor&) const {}
  template <class K> void operator()(const tandem::detail::MapKey<K>& at) const {
    out << (out.tellp() > 0 ? ", " : "") << at.key;
  }
};
/// The keys of all maps in it, in the order of a visit: "logits, hidden".
template <class T> std::string keys_of(const T& value) {
  std::ostringstream out;
  tandem::detail::visit_tensors(value, KeyList{out});
  return out.str();
}

/// A module by handle, by shared pointer, or by reference, which must then outlive its users.
template <class M> struct ModuleRef {
  ModuleRef(std::shared_ptr<M> module) : ptr(std::move(module)) {}
  ModuleRef(const ModuleHolder<M>& module) : ptr(module.ptr()) {}
  ModuleRef(M& module) : ptr(module.weak_from_this().lock(), &module) {}  // owns it with those who do, if any
  std::shared_ptr<M> ptr;
};

template <class H> struct ModuleOf : tandem::detail::Contained<H> {};
template <class M> struct ModuleOf<std::shared_ptr<M>> { using type = M; };
/// Handle, shared pointer or module -> module.
template <class H> using ModuleOfT = typename ModuleOf<std::remove_cvref_t<H>>::type;

/// A module that inherits Module::clone() has none: that one only throws.
template <class M> inline constexpr bool kHasClone = !std::is_same_v<decltype(&M::clone), decltype(&Module::clone)>;

/// @throws Error for an empty list, and for a device that does not exist
std::vector<Device> checked_devices(std::vector<Device> devices);
/// Devices of the type that the module is on, of the CPU's for a module without parameters and buffers: those with
/// these numbers, or all.
std::vector<Device> devices_of(const Module& module, const std::vector<int>& ids = {});
/// What makes one device slower or smaller than another.
struct DevicePower {
  Device device;
  std::string name;
  int64_t memory;  // bytes
  int multiprocessors;
};
/// A warning where one has less than three quarters of another's memory or multiprocessors; else nothing.
std::string unequal_devices(const std::vector<DevicePower>& devices);
/// Prints that warning, of GPUs.
void warn_of_unequal_devices(const std::vector<Device>& devices);
/// @throws Error unless there is none, or one above 0 for each device
void check_chunk_sizes(const std::vector<int64_t>& chunk_sizes, size_t devices);
/// A replica by clone(). Random numbers stay as they were.
std::shared_ptr<Module> clone_to(const Module& module, Device device);

template <class M> std::vector<std::shared_ptr<M>> make_replicas(const M& module, const std::vector<Device>& devices) {
  static_assert(kHasClone<M>,
                "DataParallel builds its replicas with clone(), which this module lacks: write `struct Net : "
                "nn::Cloneable<Net>` and give it a reset(), or pass a factory after it, [](Device) -> shared_ptr<Net>");
  std::vector<std::shared_ptr<M>> replicas;
  replicas.reserve(devices.size());
  for (const Device device : devices) {
    replicas.push_back(std::dynamic_pointer_cast<M>(clone_to(module, device)));
    TANDEM_CHECK(replicas.back(), "DataParallel: clone() of a ", module.name(), " makes a module of another type; ",
                 "it must be derived from nn::Cloneable of its own type");
  }
  return replicas;
}
template <class M> std::vector<std::shared_ptr<Module>> as_modules(const std::vector<std::shared_ptr<M>>& modules) {
  return {modules.begin(), modules.end()};
}
}  // namespace detail

struct DataParallelOptions {
  /// Along which dimension inputs are cut and outputs joined.
  TANDEM_ARG(int64_t, dim) = 0;
  /// The same for single inputs, by position; std::nullopt: it goes to each replica whole. {0, std::nullopt, 1} cuts
  /// the rows of the first, hands the second on, and cuts the columns of the third. Further inputs are cut along `dim`.
  TANDEM_ARG_DECLARED(std::vector<std::optional<int64_t>>, input_dims);
  /// Rows for each device, where devices are unequal; of a batch that is not their sum, in this proportion. None gets
  /// no row as long as there are enough. Empty: as even as can be.
  TANDEM_ARG_DECLARED(std::vector<int64_t>, chunk_sizes);
  /// Numbers of the devices, of the type that the module is on, in place of a list of devices: {0, 2}. Empty: all.
  TANDEM_ARG_DECLARED(std::vector<int>, device_ids);
  /// Whether values go to the other devices only when a version says that they changed: parameters after an
  /// optimizer's step, buffers after a batch. It saves the copies where nothing changes, in evaluation and while
  /// gradients are accumulated. Off by default, as a version does not see every write: one through data() or a raw
  /// pointer would reach the first device alone.
  TANDEM_ARG(bool, persistent_replicas) = false;
  /// Whether the replicas are built anew in each call, as LibTorch does, so that they follow every member of the module
  /// (see DataParallel::refresh). It costs what clone() or the factory costs, on every device but the first.
  TANDEM_ARG(bool, clone_each_call) = false;
};

/// Applies a module to batches whose rows are shared out among devices, as torch.nn.DataParallel. Its parameters are
/// the module's own, under names such as "module.fc1.weight", and get the sum of all devices' gradients: train them as
/// usual.
///
///   DataParallel dp(net, {"cpu:0", "cpu:1"});
///   cross_entropy(dp(x), target).backward();                // x may be anywhere; the output is on cpu:0
///   dp.loss(nn::CrossEntropyLoss(), x, target).backward();  // the same loss, computed where the outputs are
///
/// On the first device the module itself runs, on shard 0, so that what its forward writes to its members stays. The
/// replicas on the others are built once, from clone() or a factory; parameters, buffers, requires_grad, train() and
/// hooks follow the module from then on. Plain members of all modules, such as a factor or the probability of a
/// dropout, do so when refresh() is called, or with clone_each_call in every call: only clone() knows them, and it
/// costs more than most steps. What a replica's forward writes to its own is not brought back. Each works on its shard
/// alone: batch norm uses its statistics, and the module keeps the running ones of the first device; shard r draws its
/// random numbers from stream r (DeviceThreads::run). One call at a time; several may come before a backward.
template <class M> class DataParallel : public detail::WrapperModule {
 public:
  using ModuleType = detail::ModuleOfT<M>;
  using Factory = std::function<std::shared_ptr<ModuleType>(Device)>;

  /// Over options.device_ids(), or all devices of the module's type.
  explicit DataParallel(detail::ModuleRef<ModuleType> module, const DataParallelOptions& options = {})
      : DataParallel(module, detail::devices_of(*module.ptr, options.device_ids()), {},
                     DataParallelOptions(options).device_ids({})) {}
  /// @param module         on the first of `devices`
  /// @param output_device  where outputs go; the first device unless given
  /// @throws Error         naming the parameter of a module that is elsewhere, or the device that does not exist
  DataParallel(detail::ModuleRef<ModuleType> module, std::vector<Device> devices,
               std::optional<Device> output_device = {}, DataParallelOptions options = {})
      : DataParallel(module.ptr, detail::checked_devices(std::move(devices)), output_device, options,
                     [net = module.ptr](const std::vector<Device>& on) { return detail::make_replicas(*net, on); }) {}
  /// With replicas by `factory(device)`, for modules without clone(); values are copied over from the module.
  DataParallel(detail::ModuleRef<ModuleType> module, const Factory& factory, std::vector<Device> devices,
               std::optional<Device> output_device = {}, DataParallelOptions options = {})
      : DataParallel(module.ptr, detail::checked_devices(std::move(devices)), output_device, options,
                     [factory](const std::vector<Device>& on) {
                       Generator scratch;  // initial values are overwritten: the caller's random numbers stay
                       const GeneratorGuard guard(scratch);
                       std::vector<std::shared_ptr<ModuleType>> replicas;
                       replicas.reserve(on.size());
                       for (const Device device : on) {
                         replicas.push_back(factory(device));
                         TANDEM_CHECK(replicas.back(), "DataParallel: the factory returned no module for ", device);
                       }
                       return replicas;
                     }) {}

  /// Rebuilds the replicas from the module: call it after a change of plain members or child modules.
  void refresh() {
    replicas_ = make_({devices_.begin() + 1, devices_.end()});
    replicas_.insert(replicas_.begin(), module_);
    contents_ = tandem::detail::Owned(new detail::Replicas(*module_, detail::as_modules(replicas_), devices_));
  }

  /// Calls module(inputs...), hooks included, shard by shard. Tensors among the inputs, also in vectors, pairs, tuples,
  /// optionals, maps and structs with tensor_parts() (core/tensor_tree.h), are cut, along one dimension each
  /// (options.input_dims()). Scalar tensors go to each replica whole, and so do other values, by const reference.
  /// @return       the replicas' tensors joined; scalars become a vector; of structs, the rest is the first replica's
  /// @throws Error when no input has rows, when the numbers of rows differ, or when the replicas return maps of other
  ///               keys. An exception of a replica, here or in backward, is thrown again with its device
  template <class... Inputs> auto forward(const Inputs&... inputs) {
    const auto outputs = on_shards(
        [](ModuleType& net, const auto&... shard) { return tandem::detail::call_module(net, shard...); }, inputs...);
    using Output = typename std::decay_t<decltype(outputs)>::value_type;
    static_assert(TensorTree<Output>::kOnly,
                  "DataParallel gathers what forward() returns: a tensor, or a vector, pair, tuple or map of tensors, "
                  "or a struct with tensor_parts()");
    std::vector<std::vector<Tensor>> shards;
    shards.reserve(outputs.size());
    const std::string keys = detail::keys_of(outputs[0]);
    for (const Output& output : outputs) {
      TANDEM_CHECK(detail::keys_of(output) == keys, "DataParallel: replica 0 returned {", keys, "} and replica ",
                   shards.size(), " {", detail::keys_of(output), "}; all must return the same keys");
      shards.push_back(tandem::detail::tensors_of(output));
    }
    return tandem::detail::with_tensors(outputs[0], detail::gather_batch(shards, output_device_, options_.dim()));
  }
  /// Calls forward(inputs...), with the hooks of this wrapper around it.
  template <class... Inputs> auto operator()(const Inputs&... inputs) {
    return tandem::detail::call_module(*this, inputs...);
  }

  /// The loss of a batch, computed shard by shard inside the replicas: (total of the sums) / (total of the weights), so
  /// that shards of different sizes, ignored targets and class weights give the batch's true mean.
  /// @param loss_fn  a loss module such as nn::CrossEntropyLoss, or a function of (output, target) -> LossPart
  /// @param inputs_and_target  what forward() takes, then the target, which is cut along with it
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
    return detail::total_loss(on_shards(part, inputs_and_target...), output_device_);
  }

  /// The module itself, whose parameters are trained.
  const std::shared_ptr<ModuleType>& module() const { return module_; }
  /// The devices, of which the first holds the module.
  const std::vector<Device>& devices() const { return devices_; }
  /// Where outputs and losses are.
  Device output_device() const { return output_device_; }

 private:
  using Make = std::function<std::vector<std::shared_ptr<ModuleType>>(const std::vector<Device>&)>;
  DataParallel(std::shared_ptr<ModuleType> module, std::vector<Device> devices, std::optional<Device> output_device,
               const DataParallelOptions& options, Make make)
      : WrapperModule("DataParallel"),
        module_(register_module("module", std::move(module))),
        devices_(std::move(devices)),
        output_device_(output_device.value_or(devices_[0])),
        options_(options),
        make_(std::move(make)),
        threads_(devices_) {
    tandem::detail::check_device_exists(output_device_);
    TANDEM_CHECK(options_.device_ids().empty(), "DataParallel: both a list of devices and device_ids are given; ",
                 "accepted: one of the two");
    detail::check_chunk_sizes(options_.chunk_sizes(), devices_.size());
    if (options_.chunk_sizes().empty()) detail::warn_of_unequal_devices(devices_);
    refresh();
  }

  /// What call(replica, shard...) returns for every shard of the inputs.
  template <class Call, class... Inputs> auto on_shards(const Call& call, const Inputs&... inputs) {
    using Shard = std::tuple<detail::ShardArgument<Inputs>...>;
    using Result =
        std::decay_t<std::invoke_result_t<const Call&, ModuleType&, const detail::ShardArgument<Inputs>&...>>;
    const Shard whole(inputs...);
    const std::vector<std::vector<Tensor>> tensors =
        detail::scatter_batch(tandem::detail::tensors_of(whole), dims_of(inputs...), devices_, options_.chunk_sizes());
    std::vector<Shard> shards;
    shards.reserve(tensors.size());
    for (const std::vector<Tensor>& of_shard : tensors) shards.push_back(tandem::detail::with_tensors(whole, of_shard));
    if (options_.clone_each_call()) refresh();
    const detail::Lent history = contents_->refresh(shards.size(), options_.persistent_replicas());
    std::vector<Result> results(shards.size());
    threads_.run(shards.size(), [&](size_t r) {
      results[r] = std::apply([&](const auto&... each) { return call(*replicas_[r], each...); }, shards[r]);
    });
    return results;
  }

  /// Along which dimension each tensor among the inputs is cut.
  template <class... Inputs> std::vector<std::optional<int64_t>> dims_of(const Inputs&... inputs) const {
    const std::vector<std::optional<int64_t>>& given = options_.input_dims();
    TANDEM_CHECK(given.size() <= sizeof...(Inputs), "DataParallel: input_dims are of ", given.size(),
                 " inputs, and the call has ", sizeof...(Inputs));
    std::vector<std::optional<int64_t>> dims;
    size_t position = 0;
    const auto add = [&](const auto& input) {
      const auto dim = position < given.size() ? given[position] : std::optional(options_.dim());
      ++position;
      dims.insert(dims.end(), tandem::detail::tensors_of(input).size(), dim);
    };
    (add(inputs), ...);
    return dims;
  }

  std::shared_ptr<ModuleType> module_;
  std::vector<Device> devices_;
  Device output_device_;
  DataParallelOptions options_;
  Make make_;
  std::vector<std::shared_ptr<ModuleType>> replicas_;  // the module itself, and those of the other devices
  tandem::detail::Owned<detail::Replicas> contents_;
  detail::DeviceThreads threads_;
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
