#pragma once

#include <troupe/request/argument_checks.hpp>

namespace troupe::elementwise {

struct map;
struct rows;

/// What `map` and `rows` ask of their tensors and their function together.
void check_request(argument_checks& check, const map& r);
void check_request(argument_checks& check, const rows& r);

}  // namespace troupe::elementwise
