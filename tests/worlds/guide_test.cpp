// The listings of docs/guide/several-gpus.md.
#include "worlds/accumulator.hpp"

namespace troupe::worlds {
namespace {

TEST(GuideToSeveralGpus, AddsTheTensorsOfAllDevices) {
  // region: sum
  system system;
  const device_config config{.backend = backend_kind::cpu};
  device first = system.device(0, config);
  device second = system.device(1, config);
  world both = system.world({first, second});

  auto x = both.tensors<float>({1000}).value();  // one tensor on each device
  auto y = both.tensors<float>({1000}).value();
  first.ask(memory::fill{.to = x[0], .value = 1}).get();
  second.ask(memory::fill{.to = x[1], .value = 2}).get();
  both.ask(collective::all_reduce{.x = x, .y = y, .op = collective::reduction::sum}).get();
  // endregion: sum
  std::vector<float> got(1000);
  second.copy(y[1], got).get();
  EXPECT_EQ(got, std::vector<float>(1000, 3.0F));
}

}  // namespace
}  // namespace troupe::worlds
