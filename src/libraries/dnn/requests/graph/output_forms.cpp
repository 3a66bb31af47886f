#include "libraries/dnn/requests/graph/inference.hpp"

namespace troupe::dnn {

// In a source of its own: the plugins, which have the inference too, have no use for it.
result<std::vector<tensor_form>> computation::outputs_for(
    std::span<const any_tensor> inputs) const {
  if (auto valid = check(); !valid) return std::move(valid).error();
  const auto all = entries();
  auto forms = infer(*this, all, inputs, intermediate_type::f32);
  if (!forms) return std::move(forms).error();
  std::optional<dtype> of_inputs;
  bool mixed = false;
  for (const any_tensor& t : inputs) {
    if (is_integer(t.type()) || t.type() == dtype::boolean) continue;
    mixed = mixed || (of_inputs && *of_inputs != t.type());
    of_inputs = t.type();
  }
  std::vector<tensor_form> made;
  for (const std::uint16_t n : results()) {
    const node_form& form = (*forms)[n];
    dtype type = form.type;
    if (!form.settled && form.computed == number_class::f32 && of_inputs && !mixed)
      type = *of_inputs;
    made.push_back({.type = type, .extents = shape(form.extents)});
  }
  return made;
}

}  // namespace troupe::dnn
