#include "operations.hpp"
#include "unit/core/no_more_threads.hpp"

#include <troupe/plugin/worker_entry.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  // A test may limit the addresses of its worker.
  const char* const room = std::getenv("TROUPE_TEST_ADDRESS_ROOM");
  if (room != nullptr && argc >= 2) troupe::leave_address_space(std::stoull(room));
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_operations)) {
    return *status;
  }
  ::testing::InitGoogleTest(&argc, argv);
  // Tests that close streams, filter calls or end do so in a process that runs only this test from
  // its beginning.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
