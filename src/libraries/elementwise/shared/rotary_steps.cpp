#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

namespace troupe::elementwise {
namespace {

using results = std::vector<result_value>;

any_tensor part(const any_tensor& t, rotary_pairs pairs, std::int64_t which) {
  const std::int64_t half = t.extent(t.rank() - 1) / 2;
  if (pairs == rotary_pairs::interleaved) return of_last(t, which, 2, half);
  return of_last(t, which * half, 1, half);
}

template <class R>
steps rotation(const R& r, const any_tensor& from, const any_tensor& to, const function& what) {
  return {map{.inputs = {part(from, r.pairs, 0), part(from, r.pairs, 1), with_one_at(r.cos, 1),
                         with_one_at(r.sin, 1)},
              .outputs = {part(to, r.pairs, 0), part(to, r.pairs, 1)},
              .what = what}};
}

}  // namespace

steps steps_of(const rotary_embedding& r) {
  static const function what = function::of(4, [](std::span<const value> x) {
    return results{x[0] * x[2] - x[1] * x[3], x[1] * x[2] + x[0] * x[3]};
  });
  return rotation(r, r.x, r.y, what);
}

steps steps_of(const rotary_embedding_backward& r) {
  static const function what = function::of(4, [](std::span<const value> x) {
    return results{x[0] * x[2] + x[1] * x[3], x[1] * x[2] - x[0] * x[3]};
  });
  return rotation(r, r.dy, r.dx, what);
}

}  // namespace troupe::elementwise
