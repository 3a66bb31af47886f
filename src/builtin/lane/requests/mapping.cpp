#include <troupe/lane/mapping.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::lane {

void mapping::describe(description<mapping>& d) {
  d.about(
      "Keeps its place in the order for a mapped tensor: signals once every earlier conflicting "
      "request has ended, and ends when the program signals.");
  d.reads("read", &mapping::read, {}, "tensor mapped for reading").optional();
  d.writes("written", &mapping::written, {}, "tensor mapped for overwriting")
      .optional()
      .may_repeat();
  d.updates("updated", &mapping::updated, {}, "tensor mapped for updating").optional().may_repeat();
  d.writes("begun", &mapping::begun, {1}, "flag, set once nothing is waited for").in_host_memory();
  d.reads("ended", &mapping::ended, {1}, "flag that the program sets").in_host_memory();
  d.same_type({&mapping::begun, &mapping::ended}, {dtype::u32});
  d.keeps_on_failure();  // the program writes the tensor, not the request
}

}  // namespace troupe::lane
