#pragma once

#include "libraries/tensors/requests/notation.hpp"

#include <troupe/request/argument_checks.hpp>
#include <troupe/tensors/combine.hpp>
#include <troupe/tensors/contract.hpp>
#include <troupe/tensors/reduce.hpp>

/// Shared by the rules of requests and their executors.
namespace troupe::tensors {

/// The modes of a request and their extents. Precondition of the extents of d: it is given, or
/// `without_d`. \errors those of `named_tensors::of`
[[nodiscard]] result<named_tensors> named(const contract& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const einsum& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const reduce& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const permute& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const unary& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const binary& r, bool without_d = false);
[[nodiscard]] result<named_tensors> named(const trinary& r, bool without_d = false);

/// The rule that these say nothing wrong.
template <class R>
[[nodiscard]] result<named_tensors> check_named(argument_checks& check, const R& r) {
  auto found = named(r);
  if (!found) {
    check.rule(false, found.error().code, [&] { return found.error().message; });
  }
  return found;
}

/// The extents of d if the request leaves d out.
template <class R>
void derive_result(const R& r, std::vector<std::int64_t>& extents) {
  if (auto found = named(r, true)) extents = found->result_extents();
}

}  // namespace troupe::tensors
