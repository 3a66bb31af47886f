#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/blas/cuda/matrix_alignment.hpp"
#include "libraries/blaslt/cuda/sides.hpp"

#include <cstdint>

namespace troupe::cuda {

/// All that cuBLASLt's choice of a kernel depends on.
using matmul_key = number_key<48>;

[[nodiscard]] inline std::int64_t alignment_of(const any_tensor& t) noexcept {
  return t.null() ? 0 : common_alignment({reinterpret_cast<std::uintptr_t>(t.address())});
}

/// How the matrices are aligned, in bytes.
struct matrix_alignments {
  explicit matrix_alignments(const sides& s) noexcept {
    const blaslt::column_major_product& p = s.product;
    const auto of = [&](const any_tensor& t, const blaslt::stored_matrix& as, std::int64_t rows,
                        std::int64_t columns) {
      return stored_columns{t.address(),      rows, columns, as.ld, p.batch > 1 ? as.distance : 0,
                            size_of(t.type())}
          .alignment();
    };
    const auto factor = [&](const any_tensor& t, const blaslt::stored_matrix& as, std::int64_t rows,
                            std::int64_t columns) {
      return as.transposed ? of(t, as, columns, rows) : of(t, as, rows, columns);
    };
    left = factor(s.left, p.left, p.m, p.k);
    right = factor(s.right, p.right, p.k, p.n);
    d = of(s.request.d, p.d, p.m, p.n);
    c = s.request.c.null() ? d : of(s.request.c, p.c, p.m, p.n);
  }
  std::int64_t left, right, c, d;
};

/// The key of a valid request: as cuBLASLt takes it, so that a product and the same one with d, a
/// and b transposed share a plan.
[[nodiscard]] inline matmul_key key_of(const sides& s) noexcept {
  const blaslt::matmul& r = s.request;
  const blaslt::column_major_product& p = s.product;
  // The sum over a factor is that over the left or the right one.
  auto epilogue = static_cast<std::int64_t>(r.epilogue);
  if (blaslt::sums_operand(r.epilogue)) {
    const bool of_left = (r.epilogue == blaslt::epilogue::bgrad_a) != p.swapped;
    epilogue =
        static_cast<std::int64_t>(of_left ? blaslt::epilogue::bgrad_a : blaslt::epilogue::bgrad_b);
  }
  matmul_key key;
  const auto add = [&](auto number) { key.add(static_cast<std::int64_t>(number)); };
  for (const any_tensor* one : {&s.left, &s.right, &r.c, &r.d, &s.vector, &r.aux})
    add(one->null() ? -1 : static_cast<int>(one->type()));
  const matrix_alignments aligned(s);
  for (const std::int64_t bytes : {aligned.left, aligned.right, aligned.c, aligned.d,
                                   alignment_of(s.vector), alignment_of(r.aux)})
    add(bytes);
  add(r.math);
  add(r.fast_accumulation);
  add(epilogue);
  for (const std::int64_t size : {p.m, p.n, p.k, p.batch})
    add(size);
  for (const blaslt::stored_matrix* one : {&p.left, &p.right, &p.c, &p.d}) {
    add(one->ld);
    add(one->distance);
    add(one->transposed);
  }
  add(s.left_op);
  add(s.right_op);
  add(r.aux.null() ? 0
                   : blaslt::aux_leading_dimension(r.aux, p.swapped, blaslt::is_relu(r.epilogue)));
  add(r.aux.null() ? 0 : blaslt::distance_of(r.aux));
  add(!s.vector.null() && s.vector.rank() == 2 ? s.vector.stride(0) : 0);
  add(r.c.null() ? 0 : r.c.same_view(r.d) ? 2 : 1);
  add(s.left_scaling);
  add(s.right_scaling);
  int given = 0;
  for (const any_tensor* one : {&s.left_scale, &s.right_scale, &r.scale_c, &r.scale_d, &r.amax_d})
    given = given * 2 + (one->null() ? 0 : 1);
  add(given);
  add(r.tuning);
  add(r.tuning == blaslt::tuning::timed ? r.candidates : 0);
  return key;
}

}  // namespace troupe::cuda
