// What the namespaces hold: for the reference, included by nobody.

/// Tensors, operations on them, dtypes, devices, random numbers, memory, traces: what LibTorch has in torch::.
namespace tandem {
/// Recording and differentiating: functions of one's own, grad(), backward(), hooks, anomaly mode.
namespace autograd {
/// Hooks that move or pack what forward saves for backward.
namespace graph {}
/// LibTorch's names of parts of the engine.
namespace impl {}
}  // namespace autograd
/// Streams, events and captures of GPUs.
namespace cuda {}
/// Datasets, samplers, loaders.
namespace data {
/// Files and folders as datasets.
namespace datasets {}
/// What an example consists of.
namespace example {}
/// Orders in which examples come.
namespace samplers {}
/// What happens to examples on their way to a batch.
namespace transforms {}
}  // namespace data
/// Ranks and what they do together: process groups, collectives, the start of a job.
namespace distributed {}
/// The types of LibTorch's constants.
namespace enumtype {}
/// What stands in the brackets of x.index({...}).
namespace indexing {}
/// Linear algebra: decompositions, solvers, norms.
namespace linalg {}
/// Models that the demo and the examples train.
namespace models {}
/// Modules and their options.
namespace nn {
/// The modules' functions, with their options.
namespace functional {}
/// Initial values of parameters.
namespace init {}
/// DataParallel and DistributedDataParallel.
namespace parallel {}
/// Tools for modules and gradients.
namespace utils {
/// Sequences of several lengths.
namespace rnn {}
}  // namespace utils
}  // namespace nn
/// Optimizers and schedules of the learning rate.
namespace optim {}
/// Files of tensors, modules and optimizers.
namespace serialize {}
/// torch.special: functions under its names.
namespace special {}
}  // namespace tandem
