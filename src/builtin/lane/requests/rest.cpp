#include <troupe/lane/rest.hpp>

namespace troupe::lane {

void rest::describe(description<rest>& d) {
  d.about("Keeps its worker from all other requests until the program signals.");
  d.reads("until", &rest::until, {1}, "flag that the program sets").in_host_memory();
  d.same_type({&rest::until}, {dtype::u32});
}

}  // namespace troupe::lane
