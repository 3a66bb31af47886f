#pragma once

#include "random_requests.hpp"

namespace troupe::testing_requests {

/// Gives a request for several devices a part of a world, and tensors of all ranks that go
/// together. \returns false for any other request
bool draw_collective(const request_type& type, void* request, std::mt19937_64& random,
                     const view_source& views);

}  // namespace troupe::testing_requests
