#include "worlds/accumulator.hpp"

#include <troupe/device/topology.hpp>

namespace troupe::worlds {
namespace {

TEST(Topology, SaysHowEachDeviceReachesEachOther) {
  system s;
  EXPECT_TRUE(s.topology().devices.empty());
  const auto devices = devices_of(s, 2);
  const device thread = in_threads(s, 5);
  const device_topology found = s.topology();
  EXPECT_EQ(found.devices, (std::vector<std::int32_t>{0, 1, 5}));
  ASSERT_EQ(found.pairs.size(), 6U);
  const device_link shared{.through = device_link::kind::shared_memory, .native_atomics = true};
  for (const auto& [reader, owner, link] : found.pairs) {
    if (reader == 5 || owner == 5) {
      EXPECT_EQ(link, device_link{}) << reader << ' ' << owner;
    } else if (!on_gpus()) {
      EXPECT_EQ(link, shared) << reader << ' ' << owner;
    }
    EXPECT_EQ(link.is_direct(), reader != 5 && owner != 5);
  }
  EXPECT_EQ(found.pairs[3].reader, 1);
  EXPECT_EQ(found.pairs[3].owner, 5);
  EXPECT_EQ(to_string(device_link::kind::shared_memory), "shared_memory");
}

}  // namespace
}  // namespace troupe::worlds
