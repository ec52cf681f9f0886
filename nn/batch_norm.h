// Batch norm and instance norm modules in one, two and three dimensions, with running statistics.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/nn/options/normalization.h"

namespace tandem::detail {
struct BatchStatsReducer;

/// Parameters and buffers of a batch norm or instance norm.
struct NormTensors {
  Tensor weight, bias;               // (num_features); undefined if options.affine() is false
  Tensor running_mean, running_var;  // (num_features); undefined if options.track_running_stats() is false
  Tensor num_batches_tracked;        // int64 scalar; undefined if options.track_running_stats() is false
  std::shared_ptr<const BatchStatsReducer> stats_reducer =
      nullptr;  // set by SyncBatchNorm to share statistics between ranks
  /// Sets running means to 0, running variances to 1 and the number of batches to 0.
  void reset_running_stats();
  /// Resets the running statistics, and sets the weight to ones and the bias to zeros.
  void reset_parameters();

 protected:
  void register_norm_tensors(nn::Module& module, const char* name, int64_t num_features, bool affine,
                             bool track_running_stats);
};
void print_norm(std::ostream& out, const std::string& name, const nn::BatchNormOptions& options);
void print_norm(std::ostream& out, const std::string& name, const nn::InstanceNormOptions& options);
/// Increments num_batches_tracked in training. Returns whether to normalise by the statistics of the batch rather than
/// by the running statistics.
bool update_num_batches_tracked(const nn::Module& module, NormTensors& tensors);
/// Applies batch norm to x. @param dims  number of spatial dimensions. @throws Error if x has another number of spatial
/// dimensions
Tensor normalize_batch(const nn::Module& module, NormTensors& tensors, const nn::BatchNormOptions& options, size_t dims,
                       const Tensor& x);
Tensor normalize_instances(const nn::Module& module, const NormTensors& tensors, const nn::InstanceNormOptions& options,
                           size_t dims, const Tensor& x);

}  // namespace tandem::detail

namespace tandem::nn {

/// Base class of batch norm and instance norm modules.
template <size_t D, class Derived, class DerivedOptions>
class NormImplBase : public Cloneable<Derived>, public detail::NormTensors {
 public:
  NormImplBase(const DerivedOptions& o) : options(o) { NormImplBase::reset(); }
  void reset() override {
    constexpr bool batch = std::is_same_v<DerivedOptions, BatchNormOptions>;
    register_norm_tensors(*this, batch ? "BatchNorm" : "InstanceNorm", options.num_features(), options.affine(),
                          options.track_running_stats());
  }
  void pretty_print(std::ostream& out) const override { detail::print_norm(out, this->name(), options); }
  DerivedOptions options;
};

/// Batch normalisation; tandem::batch_norm computes it.
template <size_t D, class Derived> class BatchNormImplBase : public NormImplBase<D, Derived, BatchNormOptions> {
 public:
  using NormImplBase<D, Derived, BatchNormOptions>::NormImplBase;
  /// Normalises x (N, C, ...) with D spatial dimensions; BatchNorm1d also accepts (N, C). @throws Error for any other
  /// number of dimensions
  Tensor forward(const Tensor& x) { return detail::normalize_batch(*this, *this, this->options, D, x); }
};
class BatchNorm1dImpl : public BatchNormImplBase<1, BatchNorm1dImpl> {
  using BatchNormImplBase::BatchNormImplBase;
};
class BatchNorm2dImpl : public BatchNormImplBase<2, BatchNorm2dImpl> {
  using BatchNormImplBase::BatchNormImplBase;
};
class BatchNorm3dImpl : public BatchNormImplBase<3, BatchNorm3dImpl> {
  using BatchNormImplBase::BatchNormImplBase;
};
TANDEM_LIBRARY_MODULE(BatchNorm1d);
TANDEM_LIBRARY_MODULE(BatchNorm2d);
TANDEM_LIBRARY_MODULE(BatchNorm3d);

/// Instance normalisation; tandem::instance_norm computes it. Uses the statistics of the input in training, and in
/// evaluation if no running statistics are tracked.
template <size_t D, class Derived> class InstanceNormImpl : public NormImplBase<D, Derived, InstanceNormOptions> {
 public:
  using NormImplBase<D, Derived, InstanceNormOptions>::NormImplBase;
  /// Normalises x (N, C, ...) or (C, ...) with D spatial dimensions. @throws Error for any other number of dimensions,
  /// or if the number of channels is not num_features and the module has parameters or buffers
  Tensor forward(const Tensor& x) { return detail::normalize_instances(*this, *this, this->options, D, x); }
};
class InstanceNorm1dImpl : public InstanceNormImpl<1, InstanceNorm1dImpl> {
  using InstanceNormImpl::InstanceNormImpl;
};
class InstanceNorm2dImpl : public InstanceNormImpl<2, InstanceNorm2dImpl> {
  using InstanceNormImpl::InstanceNormImpl;
};
class InstanceNorm3dImpl : public InstanceNormImpl<3, InstanceNorm3dImpl> {
  using InstanceNormImpl::InstanceNormImpl;
};
TANDEM_LIBRARY_MODULE(InstanceNorm1d);
TANDEM_LIBRARY_MODULE(InstanceNorm2d);
TANDEM_LIBRARY_MODULE(InstanceNorm3d);

}  // namespace tandem::nn
