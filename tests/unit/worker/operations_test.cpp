// Which operations a worker serves.

#include "worker/plugins/backend.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

namespace troupe::worker {
namespace {

result<void> backends_inject(const fault::inject&, lane_context&) { return {}; }
result<void> backends_fill(const memory::fill&, lane_context&) { return {}; }

operation_table backend() {
  operation_table all;
  all.add(&backends_inject);
  all.add(&backends_fill);
  return all;
}

template <request R>
const operation* find(const operation_table& table) {
  return table.find(request_type_of<R>().id);
}

TEST(WorkerOperations, HoldABackendsFaultsBeforeTheWorkersOwn) {
  for (const char* libraries : {"", "memory", "blas"}) {
    const operation_table chosen = choose_operations(backend(), libraries, true);
    ASSERT_NE(find<fault::inject>(chosen), nullptr);
    EXPECT_EQ(find<fault::inject>(chosen)->executor, reinterpret_cast<void*>(&backends_inject));
    EXPECT_NE(find<fault::spin_until>(chosen), nullptr);
    EXPECT_NE(find<lane::marker>(chosen), nullptr);
  }
}

TEST(WorkerOperations, HoldNoFaultWhereNoneMayBeInjected) {
  for (const char* libraries : {"", "fault memory"}) {
    const operation_table chosen = choose_operations(backend(), libraries, false);
    EXPECT_EQ(find<fault::inject>(chosen), nullptr);
    EXPECT_EQ(find<fault::spin_until>(chosen), nullptr);
    EXPECT_NE(find<memory::fill>(chosen), nullptr);
  }
}

TEST(WorkerOperations, AreThoseOfTheLibrariesThatAreEnabled) {
  EXPECT_EQ(find<memory::fill>(choose_operations(backend(), "blas", false)), nullptr);
  EXPECT_NE(find<memory::fill>(choose_operations(backend(), "blas memory", false)), nullptr);
}

}  // namespace
}  // namespace troupe::worker
