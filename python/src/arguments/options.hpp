#pragma once

#include <troupe/device/request_options.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <string_view>

/// The options of every request, as Python's keywords.
namespace troupe::python {

namespace nb = nanobind;

inline constexpr std::array<const char*, 4> option_names{"deadline", "run_limit", "quarantine",
                                                         "tag"};

/// Sets one option of a request with this name. False if `name`, a str, is no option. Throws a
/// TypeError for an unsuitable value.
bool set_option(request_options& options, std::string_view request, nb::handle name,
                nb::handle value);

/// Those among the keywords of a method that sends such a request; they may be nothing else.
[[nodiscard]] request_options options_from(std::string_view request, const nb::dict& keywords);

}  // namespace troupe::python
