#pragma once

#include <troupe/plugin/worker_entry.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

namespace troupe::test {

/// Adds a number to each element of x. Answers the new first element.
struct add {
  static constexpr std::string_view name = "graphs.add";
  using reply = std::int64_t;

  any_tensor x{};
  std::int64_t value = 0;

  static void describe(description<add>& d);
};

/// Overwrites y with multiples of x, of the same length.
struct scale {
  static constexpr std::string_view name = "graphs.scale";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t factor = 1;

  static void describe(description<scale>& d);
};

/// Overwrites elements of table: table[indices[i]] = x[i].
struct put {
  static constexpr std::string_view name = "graphs.put";
  using reply = void;

  any_tensor x{};
  any_tensor indices{};
  any_tensor table{};

  static void describe(description<put>& d);
};

void add_operations(operation_table& operations);

}  // namespace troupe::test
