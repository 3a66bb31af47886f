#include "libraries/tensors/requests/rules.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace troupe::tensors {
namespace {

template <std::size_t N>
result<named_tensors> named_of(std::string_view modes,
                               const std::array<const any_tensor*, N>& operands,
                               const std::array<std::string, N>& names, const any_tensor& d,
                               bool without_d, bool may_repeat) {
  return named_tensors::of(modes, operands, names, without_d ? nullptr : &d, may_repeat);
}

}  // namespace

result<named_tensors> named(const contract& r, bool without_d) {
  return named_of<2>(r.modes, {&r.a, &r.b}, {"a", "b"}, r.d, without_d, false);
}

result<named_tensors> named(const einsum& r, bool without_d) {
  std::vector<const any_tensor*> operands;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    operands.push_back(&r.operands[i]);
    names.push_back(fmt::format("operands[{}]", i));
  }
  return named_tensors::of(r.modes, operands, names, without_d ? nullptr : &r.d);
}

result<named_tensors> named(const reduce& r, bool without_d) {
  return named_of<1>(r.modes, {&r.a}, {"a"}, r.d, without_d, false);
}
result<named_tensors> named(const permute& r, bool without_d) {
  return named_of<1>(r.modes, {&r.a}, {"a"}, r.d, without_d, true);
}
result<named_tensors> named(const unary& r, bool without_d) {
  return named_of<1>(r.modes, {&r.a}, {"a"}, r.d, without_d, true);
}
result<named_tensors> named(const binary& r, bool without_d) {
  return named_of<2>(r.modes, {&r.a, &r.c}, {"a", "c"}, r.d, without_d, true);
}
result<named_tensors> named(const trinary& r, bool without_d) {
  return named_of<3>(r.modes, {&r.a, &r.b, &r.c}, {"a", "b", "c"}, r.d, without_d, true);
}

}  // namespace troupe::tensors
