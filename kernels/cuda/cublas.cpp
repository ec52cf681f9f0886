// Matrix products by cuBLASLt, whose matrices are column-major. A row-major product c = a b is passed as c^T = b^T a^T,
// so cuBLASLt's first factor is b. For each shape, the first algorithm that cuBLASLt's heuristic suggests is used; the
// suggestion depends on the shape, the alignment and the GPU model alone. If deterministic algorithms are off, the
// fastest of the first eight suggestions is used instead.
#include "tandem/kernels/cuda/cublas.h"

#if TANDEM_HAS_CUBLAS
#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <map>

#include "tandem/core/cuda/cuda.h"
#include "tandem/kernels/cuda/handle_pool.h"

namespace tandem::kernels::cuda {
namespace {

/// Memory layout of a matrix: row-major, or column-major if `transposed`. `leading_dimension` is the leading dimension,
/// in elements.
struct Layout {
  bool transposed;
  int64_t leading_dimension;
};
/// Returns the memory layout of the last two dimensions, or nullopt if neither of them is contiguous.
std::optional<Layout> layout_of(const Tensor& t) {
  const int64_t rows = t.size(1), columns = t.size(2);
  if ((columns == 1 || t.stride(2) == 1) && (rows == 1 || t.stride(1) >= columns))
    return Layout{false, rows == 1 ? columns : t.stride(1)};
  if ((rows == 1 || t.stride(1) == 1) && (columns == 1 || t.stride(2) >= rows))
    return Layout{true, columns == 1 ? rows : t.stride(2)};
  return {};
}
/// Returns the alignment of the data: the largest power of two, up to 16, that divides the address. A load moves at
/// most 16 bytes, so more alignment does not help. With the limit, an aligned view gets the same algorithm as a tensor
/// with its own storage.
int alignment_of(const Tensor& t) {
  return 1 << std::min(std::countr_zero(reinterpret_cast<uintptr_t>(t.raw_data())), 4);
}

/// Everything that determines the algorithm.
struct Problem {
  DType dtype;
  Float32Precision precision;
  bool deterministic, has_bias;
  int64_t batch, m, n, k;
  struct Factor {
    bool transposed;
    int64_t leading_dimension, batch_stride;
    int alignment;
    auto operator<=>(const Factor&) const = default;
  } a, b;
  // Minimum of the alignments of c and of the bias, because the bias is read with the same vector width as c is
  // written.
  int c_alignment;
  auto operator<=>(const Problem&) const = default;
};
/// Operands of the product, for error messages.
struct MatmulOperands {
  const Tensor& a;
  const Tensor& b;
};

void check_status(cublasStatus_t status, const MatmulOperands& call) {
  TANDEM_CHECK_AS(CudaError, status == CUBLAS_STATUS_SUCCESS, "matmul of ", call.a.sizes(), " and ", call.b.sizes(),
                  " in ", call.a.dtype(), " on ", call.a.device(),
                  " failed in cuBLASLt: ", cublasLtGetStatusString(status), " (", cublasLtGetStatusName(status), ")");
}

cudaDataType_t data_type(const Problem& p) {
  switch (p.dtype) {
    case kFloat64: return CUDA_R_64F;
    case kFloat16: return CUDA_R_16F;
    case kBFloat16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}
/// Returns the type of the factors alpha and beta.
cudaDataType_t scale_type(const Problem& p) { return p.dtype == kFloat64 ? CUDA_R_64F : CUDA_R_32F; }
/// Returns the type in which products are summed: float for half types.
cublasComputeType_t compute_type(const Problem& p) {
  if (p.dtype == kFloat64) return CUBLAS_COMPUTE_64F;
  if (is_reduced_floating_point(p.dtype)) return CUBLAS_COMPUTE_32F;
  return p.precision == Float32Precision::highest ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
}

/// Descriptors for one problem (a combination of shapes, dtype and layout), and the chosen algorithm.
struct Plan {
  Plan(const Problem& p, const MatmulOperands& call);
  Plan(const Plan&) = delete;
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {first_layout, second_layout, result_layout})
      if (layout) cublasLtMatrixLayoutDestroy(layout);
    if (operation) cublasLtMatmulDescDestroy(operation);
  }
  template <class T> void set(cublasLtMatmulDescAttributes_t attribute, const T& value, const MatmulOperands& call) {
    check_status(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), call);
  }
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first_layout = nullptr, second_layout = nullptr, result_layout = nullptr;
  bool has_searched = false;  // whether algorithms for this problem were already searched
  // nullopt: no search so far, or cuBLASLt has no algorithm for this problem
  std::optional<cublasLtMatmulHeuristicResult_t> algorithm;
};

cublasLtMatrixLayout_t make_layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading_dimension,
                                   int64_t batch, int64_t batch_stride, const MatmulOperands& call) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_status(cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                          leading_dimension),
               call);
  const auto count = static_cast<int32_t>(batch);
  check_status(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               call);
  check_status(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                                sizeof batch_stride),
               call);
  return layout;
}

Plan::Plan(const Problem& p, const MatmulOperands& call) {
  const cudaDataType_t type = data_type(p);
  check_status(cublasLtMatmulDescCreate(&operation, compute_type(p), scale_type(p)), call);
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, call);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, call);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT, call);
  // cuBLASLt reads a row-major matrix as its column-major transpose.
  const auto layout = [&](const Problem::Factor& f, int64_t rows, int64_t columns) {
    return f.transposed ? make_layout(type, rows, columns, f.leading_dimension, p.batch, f.batch_stride, call)
                        : make_layout(type, columns, rows, f.leading_dimension, p.batch, f.batch_stride, call);
  };
  first_layout = layout(p.b, p.k, p.n);
  second_layout = layout(p.a, p.m, p.k);
  result_layout = make_layout(type, p.n, p.m, p.n, p.batch, p.m * p.n, call);
}

struct CublasContext {
  explicit CublasContext(Device device) {
    const gpu::DeviceGuard guard(device.index());
    const cublasStatus_t status = cublasLtCreate(&handle);
    TANDEM_CHECK_AS(CudaError, status == CUBLAS_STATUS_SUCCESS, "cuBLASLt could not be initialized on ", device, ": ",
                    cublasLtGetStatusString(status), " (", cublasLtGetStatusName(status), ")");
    // A product that is split along k needs workspace for partial sums. GPUs of compute capability 9.0 and later have
    // more multiprocessors to keep busy, so they get 32 MiB instead of 4 MiB.
    workspace_limit = size_t(gpu::properties(device.index()).major >= 9 ? 32 : 4) << 20;
  }
  cublasLtHandle_t handle = nullptr;
  size_t workspace_limit = 0;
  std::map<Problem, Plan> plans;
};

/// Runs `algorithm`, which writes the product to `to`. Returns false if cuBLASLt does not support the algorithm, which
/// can happen even if cuBLASLt's heuristic suggested it.
bool run_algorithm(const CublasContext& context, const Plan& plan, const cublasLtMatmulHeuristicResult_t& algorithm,
                   const MatmulOperands& call, const Tensor& c, void* to) {
  Tensor workspace;  // released in stream order
  if (algorithm.workspaceSize > 0)
    workspace = core::empty({static_cast<int64_t>(algorithm.workspaceSize)}, kUInt8, c.device());
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = c.dtype() == kFloat64;
  const gpu::StreamHandle stream = tandem::cuda::current_stream(c.device()).handle();
  const cublasStatus_t status = cublasLtMatmul(
      context.handle, plan.operation, wide ? static_cast<const void*>(&one64) : &one32, call.b.raw_data(),
      plan.first_layout, call.a.raw_data(), plan.second_layout, wide ? static_cast<const void*>(&zero64) : &zero32, to,
      plan.result_layout, to, plan.result_layout, &algorithm.algo, workspace.defined() ? workspace.raw_data() : nullptr,
      algorithm.workspaceSize, reinterpret_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  check_status(status, call);
  return true;
}

/// Returns up to `wanted` algorithms that cuBLASLt's heuristic suggests, in order of estimated speed.
std::vector<cublasLtMatmulHeuristicResult_t> suggested_algorithms(const CublasContext& context, const Plan& plan,
                                                                  const Problem& p, int wanted,
                                                                  const MatmulOperands& call) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_status(cublasLtMatmulPreferenceCreate(&preference), call);
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, cublasStatus_t (*)(cublasLtMatmulPreference_t)> owner(
      preference, cublasLtMatmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_status(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), call);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(context.workspace_limit));
  // If k is split, partial sums must be added in a separate step, whose order is fixed.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(p.b.alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(p.a.alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(p.c_alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(p.c_alignment));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(wanted));
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(context.handle, plan.operation, plan.first_layout, plan.second_layout,
                                     plan.result_layout, plan.result_layout, preference, wanted, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check_status(status, call);
  found.resize(static_cast<size_t>(count));
  std::erase_if(found, [](const auto& each) { return each.state != CUBLAS_STATUS_SUCCESS; });
  return found;
}

/// Times three runs of each algorithm, after a first run for warm-up, and returns the fastest; nullopt if none runs.
/// The runs write to scratch memory.
std::optional<cublasLtMatmulHeuristicResult_t> find_fastest(const CublasContext& context, const Plan& plan,
                                                            const std::vector<cublasLtMatmulHeuristicResult_t>& found,
                                                            const MatmulOperands& call, const Tensor& c) {
  const Tensor scratch = core::empty(c.sizes(), c.dtype(), c.device());
  const tandem::cuda::Stream stream = tandem::cuda::current_stream(c.device());
  float best_time = INFINITY;
  std::optional<cublasLtMatmulHeuristicResult_t> best;
  for (const cublasLtMatmulHeuristicResult_t& each : found) {
    if (!run_algorithm(context, plan, each, call, c, scratch.raw_data())) continue;
    tandem::cuda::Event start(true), end(true);
    start.record(stream);
    for (int round = 0; round < 3; ++round) run_algorithm(context, plan, each, call, c, scratch.raw_data());
    end.record(stream);
    end.synchronize();
    const float time = start.elapsed_time(end);
    if (time < best_time) {
      best = each;
      best_time = time;
    }
  }
  return best;
}

}  // namespace

bool cublas_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  const MatmulOperands call{a, b};
  const int64_t batch = c.size(0), k = a.size(2);
  const std::optional<Layout> a_layout = layout_of(a), b_layout = layout_of(b);
  if (c.numel() == 0 || k == 0 || batch > INT32_MAX || !a_layout || !b_layout) return false;
  if (!is_floating_point(c.dtype()) || a.dtype() != c.dtype() || b.dtype() != c.dtype() || a.device() != c.device() ||
      b.device() != c.device())
    return false;
  const ThreadContext& rank = ThreadContext::current();
  const Problem problem{
      c.dtype(),
      rank.float32_precision,
      rank.deterministic_algorithms,
      bias.defined(),
      batch,
      c.size(1),
      c.size(2),
      k,
      {a_layout->transposed, a_layout->leading_dimension, batch == 1 ? 0 : a.stride(0), alignment_of(a)},
      {b_layout->transposed, b_layout->leading_dimension, batch == 1 ? 0 : b.stride(0), alignment_of(b)},
      std::min(alignment_of(c), bias.defined() ? alignment_of(bias) : alignment_of(c))};
  const gpu::DeviceGuard guard(c.device().index());
  CublasContext& context = HandlePool<CublasContext>::for_this_thread(c.device());
  auto at = context.plans.find(problem);
  if (at == context.plans.end()) {
    if (context.plans.size() >= 4096) context.plans.clear();  // limits the memory of plans if shapes rarely repeat
    at = context.plans.try_emplace(problem, problem, call).first;
  }
  Plan& plan = at->second;
  if (bias.defined()) plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.raw_data(), call);
  if (!plan.has_searched) {
    // During stream capture, nothing can be timed. If the first call with this problem is captured, it uses the
    // heuristic's first suggestion.
    const bool times = !problem.deterministic && !tandem::cuda::is_current_stream_capturing();
    const auto found = suggested_algorithms(context, plan, problem, times ? 8 : 1, call);
    if (times)
      plan.algorithm = find_fastest(context, plan, found, call, c);
    else if (!found.empty())
      plan.algorithm = found[0];
    plan.has_searched = true;
  }
  if (!plan.algorithm) return false;
  if (run_algorithm(context, plan, *plan.algorithm, call, c, c.raw_data())) return true;
  plan.algorithm.reset();
  return false;
}

}  // namespace tandem::kernels::cuda

#else

namespace tandem::kernels::cuda {

bool cublas_matmul(const Tensor&, const Tensor&, const Tensor&, Tensor&) { return false; }

}  // namespace tandem::kernels::cuda
#endif
