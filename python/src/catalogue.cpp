#include "arguments/arguments.hpp"
#include "binding.hpp"
#include "dtypes.hpp"

#include <troupe/plugin/plugin_requests.hpp>
#include <troupe/request/catalogue.hpp>

#include <dlfcn.h>

#include <string>

namespace troupe::python {

void add_catalogue(nb::module_& m) {
  m.def("libraries", &libraries, "The names of all libraries.");
  m.def(
      "requests",
      [](std::string_view library) {
        std::vector<std::string> names;
        for (const request_type* const one : requests_of(library))
          names.emplace_back(one->name);
        return names;
      },
      nb::arg("library") = "", "The names of a library's requests; without one, of all.");
  m.def("_description", [](const std::string& name) {
    const request_type* const one = request_named(name);
    if (one == nullptr) throw nb::key_error(name.c_str());
    return json_of(*one);
  });
  m.def("_page", [](const std::string& name) {
    const request_type* const one = request_named(name);
    if (one == nullptr) throw nb::key_error(name.c_str());
    return page_of(*one);
  });
  m.def("_library_file", [] {
    // Beside it lie its worker, its plugins and the program `troupe`, wherever that is.
    Dl_info about{};
    ::dladdr(reinterpret_cast<const void*>(&libraries), &about);
    return std::string(about.dli_fname);
  });
  m.def("_python_name", &python_name);
  nb::dict shorter;
  for (const short_name& one : short_names())
    shorter[nb::str(one.name.data(), one.name.size())] = nb::str(one.of.data(), one.of.size());
  m.attr("_aliases") = shorter;
  m.def("_dtype_name", [](nb::handle type) { return std::string(to_string(dtype_from(type))); });
  m.def("_dtype_number", [](nb::handle type) { return static_cast<int>(dtype_from(type)); });
  m.def("_load_plugin_requests",
        [](const std::string& path) { value_of(load_plugin_requests(path)); });
}

}  // namespace troupe::python
