#include "libraries/blas/cuda/product/product_plans.hpp"

#include "backend/lru_cache.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/cublas.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace troupe::cuda {
namespace {

// In multiplications. Larger products take the device longer than the choice takes the processor.
constexpr std::int64_t largest_worth_a_plan = std::int64_t{1} << 30;
// A program that has as many shapes has no use for plans, and is not to be held up by them.
constexpr std::size_t most_plans = 1024;

lt_matrix stored(const factor_matrix& f, dtype type, std::int64_t rows,
                 std::int64_t columns) noexcept {
  if (f.transposition != CUBLAS_OP_N) std::swap(rows, columns);
  return {f.first, type, rows, columns, f.ld};
}

lt_matrix stored(const column_major_product& p, const product_types& types) noexcept {
  return {p.c, types.out, p.m, p.n, p.ldc};
}

/// All that the choice of a kernel depends on. Sizes, and what is small in one number: a product
/// that is met again costs no more than to make and compare this.
using plan_key = number_key<7>;

plan_key key_of(const column_major_product& p, const product_types& types) noexcept {
  plan_key key;
  for (const std::int64_t size : {p.m, p.n, p.k, p.a.ld, p.b.ld, p.ldc})
    key.add(size);
  std::int64_t modes = 0;
  const auto add = [&](int bits, auto value) {
    modes = modes << bits | static_cast<std::int64_t>(value);
  };
  add(8, types.in);
  add(8, types.out);
  add(8, types.compute);
  add(2, p.a.transposition);
  add(2, p.b.transposition);
  add(9, stored(p.a, types.in, p.m, p.k).alignment);
  add(9, stored(p.b, types.in, p.k, p.n).alignment);
  add(9, stored(p, types).alignment);
  key.add(modes);
  return key;
}

lt_product description_of(const column_major_product& p, const product_types& types) noexcept {
  const bool narrow = types.in == dtype::f16 || types.in == dtype::bf16;
  return {.compute = types.compute,
          .factors = narrow ? dtype::f32 : types.in,
          .op_a = p.a.transposition,
          .op_b = p.b.transposition,
          .a = stored(p.a, types.in, p.m, p.k),
          .b = stored(p.b, types.in, p.k, p.n),
          .c = stored(p, types),
          .d = stored(p, types)};
}

/// The plans of a lane.
class product_plans {
 public:
  product_plans(cublasHandle_t handle, std::span<std::byte> workspace, cudaStream_t stream) noexcept
      : handle_(handle), workspace_(workspace), stream_(stream) {}

  [[nodiscard]] result<void> multiply(const column_major_product& p, const product_types& types,
                                      const void* alpha, const void* beta) {
    const plan_key key = key_of(p, types);
    const lt_plan* plan = plans_.find(key);
    if (plan == nullptr) plan = &plans_.add(key, TRY(make(description_of(p, types))));
    if (plan->candidates().empty()) return call_gemm(handle_, p, types, alpha, beta);
    return plan->run(library(), plan->chosen(), {alpha, p.a.first, p.b.first, beta, p.c, p.c},
                     workspace_.data(), workspace_.size(), stream_);
  }

 private:
  /// A handle of cuBLAS is one of cuBLASLt. Source: cuBLAS documentation, cublasLtHandle_t.
  [[nodiscard]] cublasLtHandle_t library() const noexcept {
    return reinterpret_cast<cublasLtHandle_t>(handle_);
  }

  [[nodiscard]] result<lt_plan> make(const lt_product& p) const {
    lt_calls calls(stream_);
    lt_plan made(calls, p);
    // Without a kernel: whether anything is wrong, cuBLAS says.
    (void)made.propose(calls, library(), p, 1);
    TRY(std::move(calls).outcome());
    return made;
  }

  cublasHandle_t handle_;
  std::span<std::byte> workspace_;
  cudaStream_t stream_;
  lru_cache<plan_key, lt_plan, plan_key::hash> plans_{most_plans};
};

constexpr char attachment_key = 0;

result<product_plans*> plans_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    const cublasHandle_t handle = TRY(cublas_of(where));
    place =
        std::make_shared<product_plans>(handle, TRY(cublas_workspace_of(where)), where.stream());
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
  return TRY(plans_of(where))->multiply(p, types, alpha, beta);
}

}  // namespace troupe::cuda
