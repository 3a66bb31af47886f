#pragma once

#include "random_requests.hpp"

namespace troupe::testing_requests {

/// Gives a request of pooling windows and tensors that go together. \returns false for any other
/// request
bool draw_pooling(const request_type& type, void* request, std::mt19937_64& random,
                  const view_source& views);

}  // namespace troupe::testing_requests
