#pragma once

#include "libraries/dnn/shared/graph/lowering.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::dnn {

/// All of a request but the addresses of its tensors.
using graph_words = std::vector<std::int64_t>;
[[nodiscard]] graph_words words_of(const graph& r);

/// The pieces of a valid request; those of the requests before it are kept. Any thread may ask.
/// \errors those of `lower`
[[nodiscard]] result<std::shared_ptr<const lowered_graph>> lowered(const graph& r, products by);

}  // namespace troupe::dnn
