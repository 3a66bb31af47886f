#pragma once

#include "ops/validation.hpp"

#include <troupe/ops/request.hpp>
#include <troupe/ops/rng/generator.hpp>

#include <cstddef>
#include <initializer_list>
#include <string_view>

/// What the requests of this library have in common.
namespace troupe::rng {

void describe(field_visitor& f, position& from);

enum class quasi : bool { refused, allowed };

/// `to` can be written, has one of the types, and the stream is long enough from `from` on.
argument_checks& drawn(argument_checks& check, const any_tensor& to, const position& from,
                       std::initializer_list<dtype> types, std::size_t words,
                       quasi generators = quasi::allowed);

/// `name` is a finite number.
argument_checks& finite(argument_checks& check, std::string_view name, double value);
/// `name` is finite and `holds`, which `rule` says in words: "at least 0".
argument_checks& within(argument_checks& check, std::string_view name, double value, bool holds,
                        std::string_view rule);

}  // namespace troupe::rng
