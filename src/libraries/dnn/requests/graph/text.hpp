#pragma once

#include <troupe/dnn/computation.hpp>

#include <span>
#include <string>

namespace troupe::dnn::detail {

/// A node of a valid computation as an expression of inputs: "matmul(x0, x1) + x2".
[[nodiscard]] std::string expression_of(std::span<const nodes::entry> entries,
                                        std::span<const scalar> constants, std::size_t node);

}  // namespace troupe::dnn::detail
