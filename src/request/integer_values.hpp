#pragma once

#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <string>

namespace troupe {

/// Whether an integer type has that value, exactly, for any kind of number; false for every other
/// type.
[[nodiscard]] bool integer_type_holds(dtype type, const scalar& value);

/// The number as a message shows it; for a complex one the real part.
[[nodiscard]] std::string text_of(const scalar& value);

}  // namespace troupe
