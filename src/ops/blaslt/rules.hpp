#pragma once

#include "ops/validation.hpp"

#include <troupe/ops/blaslt/matmul.hpp>

#include <cstdint>
#include <string_view>

/// Rules of a product with an epilogue, in the order in which they are checked: each may rely on
/// those before it.
namespace troupe::blaslt {

/// Matrices, one or a batch, whose extents fit each other.
argument_checks& shapes_fit(argument_checks& check, const matmul& r);
/// Types that cuBLASLt multiplies together, and factors and modes that they allow.
argument_checks& types_fit(argument_checks& check, const matmul& r);
/// Orders and leading dimensions.
argument_checks& layouts_fit(argument_checks& check, const matmul& r);
/// What the epilogue reads and writes, and nothing else, is given.
argument_checks& epilogue_fits(argument_checks& check, const matmul& r);
/// Scales and largest magnitudes of fp8.
argument_checks& scales_fit(argument_checks& check, const matmul& r);
/// What cuBLASLt asks for beyond that. Source: cuBLAS documentation, cublasLtMatmul.
argument_checks& library_takes(argument_checks& check, const matmul& r);
/// The address of `t` is a multiple of `bytes`; `by` names what needs it, if not every request.
argument_checks& begins_at_multiple(argument_checks& check, const operand& t, std::int64_t bytes,
                                    std::string_view by = {});
/// What is written shares no element with anything else.
argument_checks& writes_are_apart(argument_checks& check, const matmul& r);

}  // namespace troupe::blaslt
