#include "arguments/options.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

// A name that is interned is found without a look at its text.
bool is(nb::handle name, PyObject* known) {
  return name.ptr() == known || PyUnicode_Compare(name.ptr(), known) == 0;
}

struct interned_options {
  PyObject* deadline = PyUnicode_InternFromString("deadline");
  PyObject* run_limit = PyUnicode_InternFromString("run_limit");
  PyObject* quarantine = PyUnicode_InternFromString("quarantine");
  PyObject* tag = PyUnicode_InternFromString("tag");
};

}  // namespace

bool set_option(request_options& options, std::string_view request, nb::handle name,
                nb::handle value) {
  static const interned_options& known = *new interned_options;
  const auto what = [&] { return std::string(request) + ": " + shown_text(name); };
  if (is(name, known.quarantine)) {
    options.quarantine = given<bool>(what(), "True or False", value);
  } else if (is(name, known.tag)) {
    options.tag = given<std::uint64_t>(what(), "an integer from 0 to 2**64 - 1", value);
  } else if (is(name, known.deadline) || is(name, known.run_limit)) {
    auto& limit = is(name, known.deadline) ? options.deadline : options.run_limit;
    if (!value.is_none()) limit = duration_of(given<double>(what(), "a number of seconds", value));
  } else {
    return false;
  }
  return true;
}

request_options options_from(std::string_view request, const nb::dict& keywords) {
  request_options options;
  for (const auto& [name, value] : keywords) {
    if (set_option(options, request, name, value)) continue;
    const std::vector<std::string> known(option_names.begin(), option_names.end());
    throw nb::type_error((std::string(request) + "() has no argument " + shown_text(name) +
                          did_you_mean(name, known))
                             .c_str());
  }
  return options;
}

}  // namespace troupe::python
