#pragma once
#include <troupe/ops/request.hpp>
namespace troupe::memory {
struct copy {
  using reply = void;
  static constexpr std::string_view name = "memory.copy";
  any_tensor from{}; any_tensor to{};
  void describe(field_visitor& f) { f.reads("from", from); f.writes("to", to); }
  result<void> validate() const { return {}; }
};
}
