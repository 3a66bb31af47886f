#pragma once
#include <troupe/ops/request.hpp>
namespace troupe::memory {
struct fill {
  using reply = void;
  static constexpr std::string_view name = "memory.fill";
  any_tensor to{}; scalar value{};
  void describe(field_visitor& f) { f.writes("to", to); f.value("value", value); }
  result<void> validate() const { return {}; }
};
}
