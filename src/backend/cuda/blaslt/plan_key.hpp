#pragma once

#include "backend/lru_cache.hpp"
#include "ops/blaslt/geometry.hpp"

#include <cstdint>

namespace troupe::cuda {

/// All that cuBLASLt's choice of a kernel depends on.
using matmul_key = number_key<48>;

/// What an address is a multiple of, up to what kernels ask for at most. Source: cuBLAS
/// documentation, cublasLtMatmulPreferenceAttributes_t.
[[nodiscard]] inline std::int64_t alignment_of(const any_tensor& t) noexcept {
  constexpr std::uintptr_t largest = 256;
  if (t.null()) return 0;
  const auto value = reinterpret_cast<std::uintptr_t>(t.address()) | largest;
  return static_cast<std::int64_t>(value & ~(value - 1));
}

/// The key of a valid request: as cuBLASLt takes it, so that a product and the same one with d, a
/// and b transposed share a plan.
[[nodiscard]] inline matmul_key key_of(const blaslt::matmul& r) noexcept {
  const blaslt::column_major_product p = blaslt::lay_out(r);
  const blaslt::combination types = blaslt::types_of(r).value_or(
      blaslt::combination{r.a.type(), r.b.type(), r.d.type(), r.d.type(), {}, r.d.type()});
  const any_tensor& left = p.swapped ? r.b : r.a;
  const any_tensor& right = p.swapped ? r.a : r.b;
  const any_tensor& vector = blaslt::has_bias(r.epilogue) ? r.bias : r.bgrad;
  // The sum over a factor is that over the left or the right one.
  auto epilogue = static_cast<std::int64_t>(r.epilogue);
  if (blaslt::sums_operand(r.epilogue)) {
    const bool of_left = (r.epilogue == blaslt::epilogue::bgrad_a) != p.swapped;
    epilogue =
        static_cast<std::int64_t>(of_left ? blaslt::epilogue::bgrad_a : blaslt::epilogue::bgrad_b);
  }
  matmul_key key;
  const auto add = [&](auto number) { key.add(static_cast<std::int64_t>(number)); };
  const auto add_type = [&](const any_tensor& t) {
    add(t.null() ? -1 : static_cast<int>(t.type()));
  };
  for (const dtype type : {left.type(), right.type(), types.c, types.d, types.bias})
    add(type);
  add_type(r.aux);
  add(types.computed);
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
  add(p.swapped ? r.op_b : r.op_a);
  add(p.swapped ? r.op_a : r.op_b);
  add(r.aux.null() ? 0
                   : blaslt::aux_leading_dimension(r.aux, p.swapped, blaslt::is_relu(r.epilogue)));
  add(r.aux.null() ? 0 : blaslt::distance_of(r.aux));
  add(!vector.null() && vector.rank() == 2 ? vector.stride(0) : 0);
  add(r.c.null() ? 0 : r.c.same_view(r.d) ? 2 : 1);
  add(p.swapped ? r.scaling_b : r.scaling_a);
  add(p.swapped ? r.scaling_a : r.scaling_b);
  int given = 0;
  for (const any_tensor* one :
       {p.swapped ? &r.scale_b : &r.scale_a, p.swapped ? &r.scale_a : &r.scale_b, &r.scale_c,
        &r.scale_d, &r.amax_d})
    given = given * 2 + (one->null() ? 0 : 1);
  add(given);
  for (const any_tensor* one : {&left, &right, &r.c, &r.d, &vector, &r.aux})
    add(alignment_of(*one));
  add(r.tuning);
  add(r.tuning == blaslt::tuning::timed ? r.candidates : 0);
  return key;
}

}  // namespace troupe::cuda
