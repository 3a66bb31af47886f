#pragma once

#include "random_requests.hpp"

namespace troupe::testing_requests {

/// Gives a request with sparse matrices tensors that go together. \returns false for any other
/// request
bool draw_sparse(const request_type& type, void* request, std::mt19937_64& random,
                 const view_source& views);

}  // namespace troupe::testing_requests
