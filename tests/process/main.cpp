#include "operations.hpp"

#include <troupe/worker/entry.hpp>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_operations)) {
    return *status;
  }
  ::testing::InitGoogleTest(&argc, argv);
  // What closes its streams, filters its calls or ends does so in a process that is this test alone
  // from its beginning.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
