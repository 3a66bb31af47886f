#include <troupe/request/library_methods.hpp>

#include <array>
#include <cstdlib>
#include <string_view>

namespace troupe {
namespace {

// The names of the methods of a library, in the order of its enumeration. An empty one, and one
// that does not exist, leaves the method as it is.
template <class Method, std::size_t N>
void set_by(const char* variable, const std::array<std::string_view, N>& names, Method& method) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): only read
  for (std::size_t i = 0; value != nullptr && i < N; ++i) {
    if (names[i] == value) method = static_cast<Method>(i);
  }
}

}  // namespace

library_methods methods_by_environment(library_methods given) noexcept {
  using std::operator""sv;
  set_by("TROUPE_DNN", std::array{"automatic"sv, "loops"sv}, given.dnn);
  set_by("TROUPE_TENSORS", std::array{"automatic"sv, "products"sv, "cutensor"sv}, given.tensors);
  set_by("TROUPE_ELEMENTWISE",
         std::array{"automatic"sv, "interpreted"sv, "compiled"sv, "callbacks"sv},
         given.elementwise);
  return given;
}

}  // namespace troupe
