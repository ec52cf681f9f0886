// Doc comments of the namespaces, for the reference; no source includes this file.

/// Tensors, operations on them, dtypes, devices, random numbers, memory and traces: the counterpart of LibTorch's
/// torch::.
namespace tandem {
/// Autograd: custom functions, grad(), backward(), hooks, anomaly mode.
namespace autograd {
/// Hooks that move or pack the tensors that forward saves for backward.
namespace graph {}
/// Parts of the engine under LibTorch's names.
namespace impl {}
}  // namespace autograd
/// Streams, events and graph captures of GPUs.
namespace cuda {}
/// Datasets, samplers, loaders.
namespace data {
/// Datasets that read files and folders.
namespace datasets {}
/// Types that an example consists of.
namespace example {}
/// Samplers, which choose the order of examples.
namespace samplers {}
/// Transforms of examples and batches.
namespace transforms {}
}  // namespace data
/// Process groups, collectives, stores, and the start of a job's ranks.
namespace distributed {}
/// The types of LibTorch's constants.
namespace enumtype {}
/// Types of the indices in x.index({...}).
namespace indexing {}
/// Linear algebra: decompositions, solvers, norms.
namespace linalg {}
/// Metrics of predictions, as in torchmetrics.
namespace metrics {}
/// Models that the demo and the examples train.
namespace models {}
/// Modules and their options.
namespace nn {
/// Functional forms of the modules, with their options.
namespace functional {}
/// Initial values of parameters.
namespace init {}
/// DataParallel and DistributedDataParallel.
namespace parallel {}
/// Tools for modules and gradients.
namespace utils {
/// Packed and padded sequences of different lengths.
namespace rnn {}
}  // namespace utils
}  // namespace nn
/// Optimizers and schedules of the learning rate.
namespace optim {}
/// Functions that argument-dependent lookup does not find. They are used as members of tandem.
namespace qualified {}
/// Archives: files of tensors, modules and optimizers.
namespace serialize {}
/// Special functions, under the names of torch.special.
namespace special {}
/// Tokenizers, and datasets of texts and tokens.
namespace text {}
}  // namespace tandem
