#pragma once

#include <troupe/blaslt/matmul.hpp>
#include <troupe/request/argument_checks.hpp>

#include <cstdint>
#include <string_view>

/// Rules of a product with an epilogue, in the order in which they are checked: each may rely on
/// those before it.
namespace troupe::blaslt {

// For requests whose operands fit each other in presence, extents and types.

/// No more products than cuBLASLt counts.
argument_checks& batch_fits(argument_checks& check, const matmul& r);
/// c and d have an order in common.
argument_checks& one_order(argument_checks& check, const matmul& r);
/// cuBLASLt has the epilogue for these types.
argument_checks& types_have_epilogue(argument_checks& check, const matmul& r);
/// The bias or the gradient of one lies as its epilogue needs it, and so do the matrices with it.
argument_checks& epilogue_vector_fits(argument_checks& check, const matmul& r);
/// aux has the type, the extents of bits and the layout that its epilogue needs.
argument_checks& epilogue_aux_fits(argument_checks& check, const matmul& r);
/// How a and b are scaled goes together, and with d.
argument_checks& scalings_fit(argument_checks& check, const matmul& r);
/// Scales and the largest magnitude lie where cuBLASLt takes them; scales of blocks in its layout.
argument_checks& scales_are_laid_out(argument_checks& check, const matmul& r);

/// The further requirements of cuBLASLt. Source: cuBLAS documentation, cublasLtMatmul.
argument_checks& library_takes(argument_checks& check, const matmul& r);
/// The address of `t` is a multiple of `bytes`; `by` names what needs it, if not every request.
argument_checks& begins_at_multiple(argument_checks& check, const operand& t, std::int64_t bytes,
                                    std::string_view by = {});

}  // namespace troupe::blaslt
