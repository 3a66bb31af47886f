#include "conformance/collective/small_world.hpp"

namespace troupe::conformance {
namespace {

// tests/worlds/nccl_test.cpp connects worlds, by a library that is there everywhere.
TEST(CollectiveConnect, IsRefusedWhereNcclMayNotBeUsed) {
  small_world one(1);
  one.refuse(collective::connect{}, errc::unsupported, "at least two GPUs");
  cover_layout(collective::connect::name, true);  // it has no operands
}

}  // namespace
}  // namespace troupe::conformance
