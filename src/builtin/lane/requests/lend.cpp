#include <troupe/lane/lend.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::lane {

void lend::describe(description<lend>& d) {
  d.about(
      "Holds its place between what was sent before and after it: once every earlier request that "
      "conflicts with it has ended it says so, and it ends when the program says so.");
  d.reads("read", &lend::read, {}, "tensor that is lent to be read").optional();
  d.writes("written", &lend::written, {}, "tensor that is lent to be overwritten")
      .optional()
      .may_repeat();
  d.updates("updated", &lend::updated, {}, "tensor that is lent to be updated")
      .optional()
      .may_repeat();
  d.writes("begun", &lend::begun, {1}, "flag, set once nothing is waited for").in_host_memory();
  d.reads("ended", &lend::ended, {1}, "flag that the program sets").in_host_memory();
  d.same_type({&lend::begun, &lend::ended}, {dtype::u32});
}

}  // namespace troupe::lane
