#pragma once

#include "libraries/tensors/shared/planner.hpp"

#include <troupe/tensors/combine.hpp>
#include <troupe/tensors/contract.hpp>
#include <troupe/tensors/contract_blocks.hpp>
#include <troupe/tensors/reduce.hpp>

#include <string>
#include <vector>

namespace troupe::tensors {

/// The tensors of a request, as programs number them; d is the last one.
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const contract& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const einsum& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const contract_blocks& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const reduce& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const permute& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const unary& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const binary& r);
[[nodiscard]] std::vector<const any_tensor*> tensors_of(const trinary& r);

/// The program of a valid request, on either backend. Precondition: d has elements
[[nodiscard]] program program_of(const contract& r, const machine& m);
[[nodiscard]] program program_of(const einsum& r, const machine& m);
[[nodiscard]] program program_of(const contract_blocks& r, const machine& m);
[[nodiscard]] program program_of(const reduce& r, const machine& m);
[[nodiscard]] program program_of(const permute& r, const machine& m);
[[nodiscard]] program program_of(const unary& r, const machine& m);
[[nodiscard]] program program_of(const binary& r, const machine& m);
[[nodiscard]] program program_of(const trinary& r, const machine& m);

/// All that the program of a request depends on: requests with equal keys have equal programs.
[[nodiscard]] std::string key_of(const contract& r);
[[nodiscard]] std::string key_of(const einsum& r);
[[nodiscard]] std::string key_of(const contract_blocks& r);
[[nodiscard]] std::string key_of(const reduce& r);
[[nodiscard]] std::string key_of(const permute& r);
[[nodiscard]] std::string key_of(const unary& r);
[[nodiscard]] std::string key_of(const binary& r);
[[nodiscard]] std::string key_of(const trinary& r);

/// How products of a request are computed: not a part of its program.
[[nodiscard]] inline blas::math_mode math_of(const contract& r) noexcept { return r.math; }
[[nodiscard]] inline blas::math_mode math_of(const einsum& r) noexcept { return r.math; }
[[nodiscard]] inline blas::math_mode math_of(const contract_blocks& r) noexcept { return r.math; }
template <class R>
[[nodiscard]] blas::math_mode math_of(const R&) noexcept {
  return blas::math_mode::strict;
}

}  // namespace troupe::tensors
