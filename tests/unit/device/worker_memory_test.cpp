#include "device/supervision/worker_memory.hpp"

#include "memory/memory_pool.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

std::shared_ptr<memory_pool> pool_of_space(memory_space space) {
  return memory_pool::create({.space = space, .limit_bytes = 1 << 20, .granule_bytes = 4096})
      .value();
}

class WorkerMemory : public testing::Test {
 protected:
  std::shared_ptr<memory_pool> device_ = pool_of_space(memory_space::device);
  std::shared_ptr<memory_pool> host_ = pool_of_space(memory_space::host);
  worker_memory memory_{*device_, *host_};
};

TEST_F(WorkerMemory, NumbersTheChangesOfAllPoolsInOneOrder) {
  EXPECT_EQ(memory_.count_change(wire::device_pool), 1u);
  EXPECT_EQ(memory_.count_change(wire::first_peer_pool), 2u);
  EXPECT_EQ(memory_.count_change(wire::host_pool), 3u);
}

TEST_F(WorkerMemory, AChangeOfAPeersMemoryDelaysNoRequestThatDoesNotNameIt) {
  constexpr wire::pool_number last = wire::pool_count - 1;
  memory_.count_change(wire::device_pool);
  memory_.count_change(wire::first_peer_pool);
  memory_.count_change(last);
  EXPECT_EQ(memory_.version(wire::device_pool), 1u);
  EXPECT_EQ(memory_.version(wire::host_pool), 1u);
  EXPECT_EQ(memory_.version(wire::first_peer_pool), 2u);
  EXPECT_EQ(memory_.version(wire::first_peer_pool + 1), 0u);
  EXPECT_EQ(memory_.version(last), 3u);
}

TEST_F(WorkerMemory, TheDevicesOwnMemoryAndTheHostsHaveOneVersion) {
  memory_.count_change(wire::host_pool);
  EXPECT_EQ(memory_.version(wire::device_pool), 1u);
  memory_.count_change(wire::device_pool);
  EXPECT_EQ(memory_.version(wire::host_pool), 2u);
}

}  // namespace
}  // namespace troupe
