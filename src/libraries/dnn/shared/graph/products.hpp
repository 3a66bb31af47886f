#pragma once

#include <troupe/blaslt/matmul.hpp>

#include <optional>
#include <vector>

namespace troupe::dnn {

/// d = a · b, with whatever extents before the last two, as products of one batch each. Nothing
/// where cuBLASLt takes none of them so: then packed operands do.
[[nodiscard]] std::optional<std::vector<blaslt::matmul>> products_of(const any_tensor& a,
                                                                     const any_tensor& b,
                                                                     const any_tensor& d,
                                                                     const blaslt::matmul& what);

}  // namespace troupe::dnn
