// A program that uses names from inside Tandem as its own. None of Tandem's names may be visible here after its `using
// namespace`, otherwise a use of the name would be ambiguous.
#define X 1
#include <tandem/models/models.h>
#include <tandem/tandem.h>

#include <iostream>

using namespace tandem;
using namespace tandem::autograd;
using namespace tandem::cuda;
using namespace tandem::data;
using namespace tandem::data::datasets;
using namespace tandem::data::samplers;
using namespace tandem::nn;
using namespace tandem::nn::parallel;
using namespace tandem::optim;

// clang-format off
struct AdamBase { int one = 1; }; struct AutogradMetaInterface { int one = 1; }; struct BucketItem { int one = 1; };
struct Buffer { int one = 1; }; struct Capture { int one = 1; }; struct ChunkFunction { int one = 1; };
struct Contained { int one = 1; }; struct BackwardContext { int one = 1; }; struct DeviceThreads { int one = 1; };
struct Extents { int one = 1; }; struct Flag { int one = 1; }; struct Float32Precision { int one = 1; };
struct FunctionNode { int one = 1; }; struct HasGetStacked { int one = 1; };
struct GradcheckFunction { int one = 1; }; struct Grads { int one = 1; }; struct HasTensorParts { int one = 1; };
struct IsSampler { int one = 1; }; struct HasApplyStacked { int one = 1; }; struct LambdaNode { int one = 1; };
struct Learning { int one = 1; }; struct Loop { int one = 1; }; struct LoopBody { int one = 1; };
struct LoopContext { int one = 1; }; struct LoopScalar { int one = 1; }; struct LoopTable { int one = 1; };
struct LossFunction { int one = 1; }; struct LossModule { int one = 1; }; struct AutogradMeta { int one = 1; };
struct ModuleRef { int one = 1; }; struct NestedList { int one = 1; }; struct NodePtr { int one = 1; };
struct Observer { int one = 1; }; struct Operand { int one = 1; }; struct Pair { int one = 1; };
struct PhiloxState { int one = 1; }; struct ThreadContext { int one = 1; }; struct ThreadContextGuard { int one = 1; };
struct RankExtension { int one = 1; }; struct RankState { int one = 1; }; struct ReduceTimes { int one = 1; };
struct Reducer { int one = 1; }; struct ReducerOptions { int one = 1; }; struct IntrusivePtr { int one = 1; };
struct RefCounted { int one = 1; }; struct Replicas { int one = 1; }; struct SavedTensor { int one = 1; };
struct Shape { int one = 1; }; struct IsStackTransform { int one = 1; }; struct StorageImpl { int one = 1; };
struct StreamSet { int one = 1; }; struct Streams { int one = 1; }; struct RemainderPolicy { int one = 1; };
struct TensorHook { int one = 1; }; struct TensorImpl { int one = 1; }; struct TensorRefs { int one = 1; };
struct ThreadShareGuard { int one = 1; }; struct VersionCounter { int one = 1; };
struct ViewGeometry { int one = 1; };

int should_accumulate_grad = 1, allocate = 1, any_requires_grad = 1, apply_hooks = 1, as_strided_backward = 1,
    broadcast_shapes = 1, check_alpha = 1, check_device_exists = 1, check_subtraction = 1, compute_nbytes = 1,
    clamp_backward = 1, clamp_result_type = 1, copy_if_overlapping = 1, enable_p2p_access = 1, contiguous_strides = 1,
    conv2d_backward_input = 1, conv2d_backward_weight = 1, copy_elements = 1, core = 1, deallocate = 1,
    shard_indices = 1, dtype_of = 1, element_size = 1, elu_backward = 1, get_autograd_meta = 1, gather_rows = 1,
    gelu_backward = 1, get_thread_share = 1, gpu = 1, grad_accumulator = 1, grad_fn = 1, gradient_edge = 1,
    is_reduced_floating_point = 1, is_integer = 1, kDTypeCount = 1, kMaxDevices = 1, kMaxDims = 1, kMaxOperands = 1, kMaxScalars = 1,
    leaky_relu_backward = 1, loss_part = 1, may_overlap = 1, materialize_autograd_meta = 1, name = 1, numel_of = 1, plan_buckets = 1,
    queue_callback = 1, record_op = 1, record_list_op = 1, record_view = 1, relu_backward = 1, reshape_result = 1,
    set_history = 1, set_view_base = 1, shard_sizes = 1, sigmoid_backward = 1, silu_backward = 1, softplus_backward = 1,
    stack_rows = 1, stream_of = 1, sum_to_size = 1, tanh_backward = 1, uncaptured_stream_of = 1, visit_dtype = 1,
    wait_for_streams = 1, tensor_requires_grad = 1, wrap_dim = 1, copy_inplace = 1, zeros_with_strides_of = 1;

int main() {
  int sum = X;
  sum += AdamBase().one; sum += AutogradMetaInterface().one; sum += BucketItem().one; sum += Buffer().one;
  sum += Capture().one; sum += ChunkFunction().one; sum += Contained().one; sum += BackwardContext().one;
  sum += DeviceThreads().one; sum += Extents().one; sum += Flag().one; sum += Float32Precision().one;
  sum += FunctionNode().one; sum += HasGetStacked().one; sum += GradcheckFunction().one; sum += Grads().one;
  sum += HasTensorParts().one; sum += IsSampler().one; sum += HasApplyStacked().one; sum += LambdaNode().one;
  sum += Learning().one; sum += Loop().one; sum += LoopBody().one; sum += LoopContext().one; sum += LoopScalar().one;
  sum += LoopTable().one; sum += LossFunction().one; sum += LossModule().one; sum += AutogradMeta().one;
  sum += ModuleRef().one; sum += NestedList().one; sum += NodePtr().one; sum += Observer().one; sum += Operand().one;
  sum += Pair().one; sum += PhiloxState().one; sum += ThreadContext().one; sum += ThreadContextGuard().one;
  sum += RankExtension().one; sum += RankState().one; sum += ReduceTimes().one; sum += Reducer().one;
  sum += ReducerOptions().one; sum += IntrusivePtr().one; sum += RefCounted().one; sum += Replicas().one;
  sum += SavedTensor().one; sum += Shape().one; sum += IsStackTransform().one; sum += StorageImpl().one;
  sum += StreamSet().one; sum += Streams().one; sum += RemainderPolicy().one; sum += TensorHook().one; sum += TensorImpl().one;
  sum += TensorRefs().one; sum += ThreadShareGuard().one; sum += VersionCounter().one; sum += ViewGeometry().one;
  sum += should_accumulate_grad + allocate + any_requires_grad + apply_hooks + as_strided_backward + broadcast_shapes +
      check_alpha + check_device_exists + check_subtraction + compute_nbytes + clamp_backward + clamp_result_type +
      copy_if_overlapping + enable_p2p_access + contiguous_strides + conv2d_backward_input + conv2d_backward_weight + copy_elements +
      core + deallocate + shard_indices + dtype_of + element_size + elu_backward + get_autograd_meta + gather_rows +
      gelu_backward + get_thread_share + gpu + grad_accumulator + grad_fn + gradient_edge + is_reduced_floating_point + is_integer +
      kDTypeCount + kMaxDevices + kMaxDims + kMaxOperands + kMaxScalars + leaky_relu_backward + loss_part +
      may_overlap + materialize_autograd_meta + name + numel_of + plan_buckets + queue_callback + record_op + record_list_op + record_view +
      relu_backward + reshape_result + set_history + set_view_base + shard_sizes + sigmoid_backward + silu_backward +
      softplus_backward + stack_rows + stream_of + sum_to_size + tanh_backward + uncaptured_stream_of + visit_dtype +
      wait_for_streams + tensor_requires_grad + wrap_dim + copy_inplace + zeros_with_strides_of;
  // clang-format on
  const tandem::Tensor x = tandem::ones({2, 3});
  std::cout << sum << " names, and " << x.sum().item<float>() << " elements\n";
  return sum == 129 ? 0 : 1;
}
