#pragma once

#include <troupe/elementwise/function.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::elementwise {

/// Which element type a value of a function has. A constant takes others'.
struct value_kind {
  std::optional<dtype> type;
  dtype own = dtype::i64;  ///< for a constant alone
  bool same_for_row = true;

  [[nodiscard]] dtype settled() const noexcept { return type.value_or(own); }
};

/// By instruction. Precondition: there is a type for each input.
[[nodiscard]] std::vector<value_kind> kinds_of_values(const function& f,
                                                      std::span<const dtype> inputs,
                                                      std::uint32_t repeated);

/// The type of what two types have in common, by the rules of `function::outputs_for`.
[[nodiscard]] dtype common_type(dtype a, dtype b) noexcept;
/// A complex type's parts have this type; any other is itself.
[[nodiscard]] dtype part_of(dtype type) noexcept;

}  // namespace troupe::elementwise
