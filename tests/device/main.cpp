#include "device/fixtures/fake_worker.hpp"
#include "device/fixtures/operations.hpp"
#include "device/fixtures/programs.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  troupe::test::maybe_misbehave(argc, argv);
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_operations)) {
    return *status;
  }
  if (const int status = troupe::test::maybe_run_program(); status >= 0) return status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
