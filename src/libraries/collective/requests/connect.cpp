#include "libraries/collective/requests/rank_lists.hpp"

#include <troupe/collective/connect.hpp>

namespace troupe::collective {

void connect::describe(description<connect>& d) {
  d.about("Begins to connect the ranks by NCCL, in the background.", "NCCL ncclCommInitRank");
  d.group("part", &connect::part);
  d.rule(
      "it is sent to a world",
      +[](argument_checks& check, const connect& r) { (void)rank_lists(check, r.part); });
}

}  // namespace troupe::collective
