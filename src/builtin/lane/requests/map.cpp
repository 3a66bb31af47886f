#include <troupe/lane/map.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::lane {

void map::describe(description<map>& d) {
  d.about(
      "Keeps its place in the order for a mapped tensor: signals once every earlier conflicting "
      "request has ended, and ends when the program signals.");
  d.reads("read", &map::read, {}, "tensor mapped for reading").optional();
  d.writes("written", &map::written, {}, "tensor mapped for overwriting").optional().may_repeat();
  d.updates("updated", &map::updated, {}, "tensor mapped for updating").optional().may_repeat();
  d.writes("begun", &map::begun, {1}, "flag, set once nothing is waited for").in_host_memory();
  d.reads("ended", &map::ended, {1}, "flag that the program sets").in_host_memory();
  d.same_type({&map::begun, &map::ended}, {dtype::u32});
  d.keeps_on_failure();  // the program writes the tensor, not the request
}

}  // namespace troupe::lane
