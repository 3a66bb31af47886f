#pragma once

#include "random_requests.hpp"

namespace troupe::testing_requests {

/// Gives a `dnn.graph` a random computation and tensors that it takes; mostly valid. \returns false
/// for any other request
bool draw_graph(const request_type& type, void* request, std::mt19937_64& random,
                const view_source& views);

}  // namespace troupe::testing_requests
