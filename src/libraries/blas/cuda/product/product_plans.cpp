#include "libraries/blas/cuda/product/product_plans.hpp"

#include "libraries/blas/cuda/cublas.hpp"
#include "libraries/blas/cuda/cublaslt.hpp"
#include "libraries/blas/cuda/matrix_alignment.hpp"

#include <cublasLt.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace troupe::cuda {
namespace {

// Of multiplications. More take the device longer than any choice takes the processor.
constexpr std::int64_t largest_worth_a_plan = std::int64_t{1} << 30;
// A program that has as many shapes has no use for plans, and is not to be held up by them.
constexpr std::size_t most_plans = 1024;
/// All that the choice of a kernel depends on.
struct plan_key {
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;
  cublasOperation_t op_a, op_b;
  cudaDataType in, out;
  cublasComputeType_t compute;
  std::uint16_t align_a, align_b, align_c;  // bytes

  bool operator==(const plan_key&) const = default;
};

struct plan_hash {
  std::size_t operator()(const plan_key& key) const noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio: it spreads low bits
    std::uint64_t mixed = 0;
    const auto mix = [&](auto value) {
      mixed = std::rotl(mixed * odd, 29) ^ static_cast<std::uint64_t>(value);
    };
    for (const std::int64_t size : {key.m, key.n, key.k, key.lda, key.ldb, key.ldc})
      mix(size);
    for (const int mode : {int{key.op_a}, int{key.op_b}, int{key.in}, int{key.out}})
      mix(mode);
    mix(int{key.compute});
    for (const std::uint16_t bytes : {key.align_a, key.align_b, key.align_c})
      mix(bytes);
    return mixed * odd;
  }
};

std::int64_t bytes_of(cudaDataType type) noexcept {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
      return 4;
    case CUDA_C_64F:
      return 16;
    default:
      return 8;
  }
}

std::uint16_t alignment_of(const void* first, std::int64_t rows, std::int64_t columns,
                           std::int64_t ld, cudaDataType type) noexcept {
  const stored_columns matrix{first, rows, columns, ld, 0, bytes_of(type)};
  return static_cast<std::uint16_t>(matrix.alignment());
}
std::uint16_t alignment_of(const factor_matrix& f, std::int64_t rows, std::int64_t columns,
                           cudaDataType type) noexcept {
  if (f.transposition != CUBLAS_OP_N) std::swap(rows, columns);
  return alignment_of(f.first, rows, columns, f.ld, type);
}

plan_key key_of(const column_major_product& p, const product_types& types) noexcept {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.a.ld,
          .ldb = p.b.ld,
          .ldc = p.ldc,
          .op_a = p.a.transposition,
          .op_b = p.b.transposition,
          .in = types.in,
          .out = types.out,
          .compute = types.compute,
          .align_a = alignment_of(p.a, p.m, p.k, types.in),
          .align_b = alignment_of(p.b, p.k, p.n, types.in),
          .align_c = alignment_of(p.c, p.m, p.n, p.ldc, types.out)};
}

struct plan {
  lt_operation what;
  lt_layout a, b, c;
  cublasLtMatmulAlgo_t kernel{};
  bool exists = false;  // cuBLASLt has a kernel for it
};

/// Makes the descriptions of a plan; the first failure stays.
class planner {
 public:
  planner(cublasHandle_t handle, std::size_t workspace_bytes) noexcept
      : handle_(handle), workspace_bytes_(workspace_bytes) {}

  [[nodiscard]] result<plan> operator()(const plan_key& key) {
    plan made;
    cublasLtMatmulDesc_t what = nullptr;
    note(cublasLtMatmulDescCreate(&what, key.compute, factor_type(key)),
         "cublasLtMatmulDescCreate");
    made.what.reset(what);
    set(what, CUBLASLT_MATMUL_DESC_TRANSA, key.op_a);
    set(what, CUBLASLT_MATMUL_DESC_TRANSB, key.op_b);
    const auto matrix = [&](cudaDataType type, std::int64_t rows, std::int64_t columns,
                            std::int64_t ld, bool turned) {
      if (turned) std::swap(rows, columns);
      cublasLtMatrixLayout_t one = nullptr;
      note(cublasLtMatrixLayoutCreate(&one, type, static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), ld),
           "cublasLtMatrixLayoutCreate");
      return lt_layout(one);
    };
    made.a = matrix(key.in, key.m, key.k, key.lda, key.op_a != CUBLAS_OP_N);
    made.b = matrix(key.in, key.k, key.n, key.ldb, key.op_b != CUBLAS_OP_N);
    made.c = matrix(key.out, key.m, key.n, key.ldc, false);
    if (outcome_) choose(key, made);
    if (!outcome_) return std::move(outcome_).error();
    return made;
  }

 private:
  void choose(const plan_key& key, plan& made) {
    cublasLtMatmulPreference_t made_wish = nullptr;
    note(cublasLtMatmulPreferenceCreate(&made_wish), "cublasLtMatmulPreferenceCreate");
    const lt_preference wish(made_wish);
    wish_for(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes_});
    // Sums are formed in the type in which products are computed, never in a narrower one.
    unsigned reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (key.out == factor_type(key)) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
    wish_for(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{reductions});
    wish_for(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{key.align_a});
    wish_for(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{key.align_b});
    wish_for(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{key.align_c});
    wish_for(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{key.align_c});
    if (!outcome_) return;
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        reinterpret_cast<cublasLtHandle_t>(handle_), made.what.get(), made.a.get(), made.b.get(),
        made.c.get(), made.c.get(), wish.get(), 1, &best, &found);
    // Whether anything is wrong, the other call says.
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return;
    note(status, "cublasLtMatmulAlgoGetHeuristic");
    made.exists = outcome_ && found == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    made.kernel = best.algo;
  }

  static cudaDataType factor_type(const plan_key& key) noexcept {
    const bool narrow = key.in == CUDA_R_16F || key.in == CUDA_R_16BF;
    return narrow ? CUDA_R_32F : key.in;
  }

  void set(cublasLtMatmulDesc_t what, cublasLtMatmulDescAttributes_t which,
           cublasOperation_t value) {
    if (!outcome_) return;
    note(cublasLtMatmulDescSetAttribute(what, which, &value, sizeof value),
         "cublasLtMatmulDescSetAttribute");
  }
  template <class T>
  void wish_for(const lt_preference& wish, cublasLtMatmulPreferenceAttributes_t which, T value) {
    if (!outcome_) return;
    note(cublasLtMatmulPreferenceSetAttribute(wish.get(), which, &value, sizeof value),
         "cublasLtMatmulPreferenceSetAttribute");
  }
  void note(cublasStatus_t status, std::string_view call) {
    if (outcome_) outcome_ = check(status, call, handle_);
  }

  cublasHandle_t handle_;
  std::size_t workspace_bytes_;
  result<void> outcome_;
};

/// The plans of a lane.
class product_plans {
 public:
  product_plans(cublasHandle_t handle, std::span<std::byte> workspace, cudaStream_t stream) noexcept
      : handle_(handle), workspace_(workspace), stream_(stream) {}

  /// Valid until the next call.
  [[nodiscard]] result<const plan*> find(const plan_key& key) {
    if (last_ != nullptr && last_->first == key) return &last_->second;
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      auto made = planner(handle_, workspace_.size())(key);
      if (!made) return std::move(made).error();
      if (plans_.size() >= most_plans) plans_.clear();
      found = plans_.emplace(key, *std::move(made)).first;
    }
    last_ = &*found;
    return &last_->second;
  }

  [[nodiscard]] result<void> run(const plan& as, const column_major_product& p, const void* alpha,
                                 const void* beta) const {
    return check(
        cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle_), as.what.get(), alpha, p.a.first,
                       as.a.get(), p.b.first, as.b.get(), beta, p.c, as.c.get(), p.c, as.c.get(),
                       &as.kernel, workspace_.data(), workspace_.size(), stream_),
        "cublasLtMatmul", handle_);
  }

  [[nodiscard]] cublasHandle_t handle() const noexcept { return handle_; }

 private:
  cublasHandle_t handle_;
  std::span<std::byte> workspace_;
  cudaStream_t stream_;
  std::unordered_map<plan_key, plan, plan_hash> plans_;
  const std::pair<const plan_key, plan>* last_ = nullptr;  // a loop asks for the same again
};

constexpr char attachment_key = 0;

result<product_plans*> plans_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto handle = cublas_of(where);
    if (!handle) return std::move(handle).error();
    auto workspace = cublas_workspace_of(where);
    if (!workspace) return std::move(workspace).error();
    place = std::make_shared<product_plans>(*handle, *workspace, where.stream());
  }
  return static_cast<product_plans*>(place.get());
}

}  // namespace

bool is_worth_a_plan(const column_major_product& p, const product_types& types) noexcept {
  const bool plain = types.compute == CUBLAS_COMPUTE_32F || types.compute == CUBLAS_COMPUTE_64F ||
                     types.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return plain && p.batch == 1 && p.m <= largest_worth_a_plan / p.n / p.k;
}

result<void> multiply_as_planned(lane& where, const column_major_product& p,
                                 const product_types& types, const void* alpha, const void* beta) {
  auto plans = plans_of(where);
  if (!plans) return std::move(plans).error();
  auto as = (*plans)->find(key_of(p, types));
  if (!as) return std::move(as).error();
  if (!(*as)->exists) return call_gemm((*plans)->handle(), p, types, alpha, beta);
  return (*plans)->run(**as, p, alpha, beta);
}

}  // namespace troupe::cuda
