#include "libraries/elementwise/requests/rules.hpp"
#include "libraries/elementwise/requests/space.hpp"

#include <troupe/elementwise/reduce.hpp>

namespace troupe::elementwise {
namespace {

result<std::vector<tensor_form>> forms_in(const function& f, std::span<const any_tensor> inputs,
                                          std::span<const std::int64_t> axes) {
  if (auto valid = f.check(); !valid) return std::move(valid).error();
  std::vector<tensor_form> made;
  if (f.outputs() == 0) return made;
  const auto over = space::of(inputs, axes);
  if (!over) return over.error();
  std::vector<dtype> types;
  for (const any_tensor& t : inputs)
    types.push_back(t.type());
  const auto kinds = f.outputs_for(types, over->repeated);
  if (!kinds) return kinds.error();
  for (const output_kind& one : *kinds) {
    std::array<std::int64_t, max_rank> extents = over->extents;
    for (int d = 0; d < over->rank; ++d) {
      if (one.same_for_row && over->is_row_axis(d)) extents[static_cast<std::size_t>(d)] = 1;
    }
    made.push_back({.type = one.type,
                    .extents = shape(std::span<const std::int64_t>(extents).first(
                        static_cast<std::size_t>(over->rank)))});
  }
  return made;
}

}  // namespace

result<std::vector<tensor_form>> forms_of_outputs(const map& r) {
  return forms_in(r.what, r.inputs, {});
}
result<std::vector<tensor_form>> forms_of_outputs(const rows& r) {
  return forms_in(r.what, r.inputs, r.axes);
}
result<std::vector<tensor_form>> forms_of_outputs(const reduce& r) {
  const auto as_rows = rows_of(r);
  if (!as_rows) return as_rows.error();
  return forms_of_outputs(*as_rows);
}

}  // namespace troupe::elementwise
