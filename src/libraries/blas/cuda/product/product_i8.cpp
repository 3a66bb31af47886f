#include "base/try.hpp"
#include "libraries/blas/cuda/limits.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <utility>

namespace troupe::cuda {
namespace {

// Tensor cores' kernels for i8 run best if every extent is a multiple of 16 and k runs along the
// columns of both operands. Source: cuBLAS documentation, cublasGemmEx, "IMMA kernels".
constexpr std::int64_t grain = 16;

constexpr std::int64_t padded(std::int64_t extent) noexcept {
  return (extent + grain - 1) / grain * grain;
}

/// Each copy is a batch of its own, or one matrix if the operand is shared. Their bytes are
/// multiples of 256, as the extents are of 16.
struct padded_copies {
  std::int64_t m, n, k;
  std::int64_t count_a, count_b;
  std::int64_t bytes_a, bytes_b, bytes_c;

  explicit padded_copies(const column_major_product& p) noexcept
      : m(padded(p.m)),
        n(padded(p.n)),
        k(padded(p.k)),
        count_a(p.a.stride == 0 ? 1 : p.batch),
        count_b(p.b.stride == 0 ? 1 : p.batch),
        bytes_a(k * m * count_a),
        bytes_b(k * n * count_b),
        bytes_c(m * n * p.batch * size_of(dtype::i32)) {}
};

/// Copies `count` matrices of k × columns, as the operand is used, to packed columns of `depth`
/// elements. `along_k` says that the operand's own columns do so, too.
result<void> copy_columns(lane& where, const factor_matrix& from, bool along_k, std::int64_t k,
                          std::int64_t columns, std::byte* to, std::int64_t depth,
                          std::int64_t width, std::int64_t count) {
  return combine(where, dtype::i8, {depth, width, count},
                 {.first = to, .row = 1, .column = depth, .batch = depth * width},
                 {.place = {.first = const_cast<std::byte*>(from.first),
                            .row = along_k ? 1 : from.ld,
                            .column = along_k ? from.ld : 1,
                            .batch = from.stride},
                  .factor = 1,
                  .valid = {.rows = k, .columns = columns}});
}

bool is_accepted(const factor_matrix& f, std::int64_t batch) noexcept {
  return limits::cublas::accepts_i8(f.first, f.ld, batch == 1 ? 0 : f.stride);
}

}  // namespace

bool aligned_for_i8(const column_major_product& p) noexcept {
  return is_accepted(p.a, p.batch) && is_accepted(p.b, p.batch);
}

std::size_t padded_i8_bytes(const column_major_product& p) noexcept {
  const padded_copies copies(p);
  return static_cast<std::size_t>(copies.bytes_a + copies.bytes_b + copies.bytes_c);
}

result<void> multiply_padded_i8(const product& p, const column_major_product& as, lane& where) {
  const padded_copies copies(as);
  call_frame frame(where);
  const auto a = frame.bytes(copies.bytes_a);
  const auto b = frame.bytes(copies.bytes_b);
  const auto sums = frame.bytes(copies.bytes_c);
  TRY(frame.begin());
  TRY(copy_columns(where, as.a, as.a.transposition == CUBLAS_OP_T, as.k, as.m, a, copies.k,
                   copies.m, copies.count_a));
  TRY(copy_columns(where, as.b, as.b.transposition == CUBLAS_OP_N, as.k, as.n, b, copies.k,
                   copies.n, copies.count_b));
  const cublasHandle_t handle = TRY(cublas_of(where));
  const product_factor one(1, dtype::i32);
  const product_factor zero(0, dtype::i32);
  TRY(call_gemm(handle,
                {.a = {.first = a,
                       .ld = copies.k,
                       .stride = copies.count_a == 1 ? 0 : copies.k * copies.m,
                       .transposition = CUBLAS_OP_T,
                       .to_conjugate = false},
                 .b = {.first = b,
                       .ld = copies.k,
                       .stride = copies.count_b == 1 ? 0 : copies.k * copies.n,
                       .transposition = CUBLAS_OP_N,
                       .to_conjugate = false},
                 .c = sums,
                 .m = copies.m,
                 .n = copies.n,
                 .k = copies.k,
                 .ldc = copies.m,
                 .stride_c = copies.m * copies.n,
                 .batch = as.batch,
                 .swapped = as.swapped},
                types_of(p), one.address(), zero.address()));
  // c = alpha · sums + beta · c, as this product has them: transposed when c is row-major.
  const batch_place c{.first = as.c, .row = 1, .column = as.ldc, .batch = as.stride_c};
  return combine(
      where, dtype::i32, {as.m, as.n, as.batch}, c,
      {.place = {.first = sums, .row = 1, .column = copies.m, .batch = copies.m * copies.n},
       .factor = p.alpha},
      {.place = c, .factor = p.beta});
}

}  // namespace troupe::cuda
