// The default element types of outputs.
#include "libraries/elementwise/requests/function/element_types.hpp"

#include <fmt/format.h>

namespace troupe::elementwise {

result<std::vector<output_kind>> function::outputs_for(std::span<const dtype> inputs,
                                                       std::uint32_t repeated) const {
  if (inputs.size() != static_cast<std::size_t>(this->inputs())) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the function has {} inputs, and the types of {} are given",
                                        this->inputs(), inputs.size())};
  }
  std::vector<output_kind> made(static_cast<std::size_t>(outputs()));
  const std::vector<value_kind> all = kinds_of_values(*this, inputs, repeated);
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    if (one.op != opcode::output) continue;
    output_kind& to = made[one.b];
    const dtype type = all[one.a].settled();
    to.same_for_row = all[one.a].same_for_row && (one.c == 0 || to.same_for_row);
    to.type = one.c == 0 ? type : common_type(part_of(to.type), type);
    if (one.c == 1) to.type = to.type == dtype::f64 ? dtype::c128 : dtype::c64;
  }
  return made;
}

}  // namespace troupe::elementwise
