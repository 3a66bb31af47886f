#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <troupe/elementwise/map.hpp>

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// The functions of a transform, as the maps that backends run before and after it.
namespace troupe::fft {

/// The inputs, outputs and functions of a request.
struct request_fields {
  const any_tensor& in;
  const any_tensor& out;
  const elementwise::function& load;
  const std::vector<any_tensor>& load_operands;
  const elementwise::function& store;
  const std::vector<any_tensor>& store_operands;

  template <class Request>
  [[nodiscard]] static request_fields of(const Request& r) noexcept {
    return {r.in, r.out, r.load, r.load_operands, r.store, r.store_operands};
  }
  [[nodiscard]] bool loads() const noexcept { return given(load); }
  [[nodiscard]] bool stores() const noexcept { return given(store); }
};

[[nodiscard]] inline elementwise::map map_of(const elementwise::function& f, const any_tensor& from,
                                             const std::vector<any_tensor>& operands,
                                             const any_tensor& to) {
  elementwise::map made{.inputs = {from}, .outputs = {to}, .what = f};
  made.inputs.insert(made.inputs.end(), operands.begin(), operands.end());
  return made;
}

/// `numbers` = load(in, operands…).
[[nodiscard]] inline elementwise::map load_map(const request_fields& r, const any_tensor& numbers) {
  return map_of(r.load, r.in, r.load_operands, numbers);
}
/// out = store(`numbers`, operands…).
[[nodiscard]] inline elementwise::map store_map(const request_fields& r,
                                                const any_tensor& numbers) {
  return map_of(r.store, numbers, r.store_operands, r.out);
}

/// store(factor · x, operands…), of complex or real numbers, so that scaling is no pass of its own;
/// nothing where a function cannot have that many instructions or constants.
[[nodiscard]] inline std::optional<elementwise::function> scaled_store(const request_fields& r,
                                                                       double factor,
                                                                       bool complex) {
  using elementwise::function;
  using elementwise::result_value;
  using elementwise::value;
  constexpr std::size_t added = 5;  // two parts of the number, the factor, two products
  if (r.store.size() + added > function::most_instructions ||
      r.store.constants().size() == function::most_constants) {
    return std::nullopt;
  }
  return function::of(r.store.inputs(), [&](std::span<const value> x) {
    std::vector<result_value> inputs(x.begin(), x.end());
    if (complex) {
      inputs[0] = elementwise::complex(x[0]) * value(factor);
    } else {
      inputs[0] = x[0] * value(factor);
    }
    return r.store(inputs);
  });
}

}  // namespace troupe::fft
