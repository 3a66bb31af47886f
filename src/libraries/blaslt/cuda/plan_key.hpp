#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/blaslt/cuda/sides.hpp"

#include <cstdint>

namespace troupe::cuda {

/// All that cuBLASLt's choice of a kernel depends on.
using matmul_key = number_key<48>;

[[nodiscard]] inline std::int64_t alignment_of(const any_tensor& t) noexcept {
  return t.null() ? 0 : common_alignment({reinterpret_cast<std::uintptr_t>(t.address())});
}

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
  const sides::matrices all = s.stored();
  for (const std::int64_t bytes : {all.left.alignment, all.right.alignment, all.c.alignment,
                                   all.d.alignment, alignment_of(s.vector), alignment_of(r.aux)})
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
