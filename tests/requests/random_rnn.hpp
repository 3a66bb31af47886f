#pragma once

#include "random_requests.hpp"

namespace troupe::testing_requests {

/// Gives a request of a recurrent network numbers and tensors that go together. \returns false for
/// any other request
bool draw_rnn(const request_type& type, void* request, std::mt19937_64& random,
              const view_source& views);

}  // namespace troupe::testing_requests
