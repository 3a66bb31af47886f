// The cost of an idle device.

#include "idle_figures.hpp"

#include <troupe/lane/marker.hpp>

int main() {
  using namespace troupe;
  bench::report out("idle: a device, its worker and its standby with nothing to do");
  troupe::system system;
  device gpu = system.device(0);
  gpu.wait_until_ready().value();
  for (int i = 0; i < 1000; ++i)
    gpu.ask(lane::marker{}).get();
  while (!gpu.health().standby_ready)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bench::measure_idle(out, gpu, 0.2);
  return out.finish();
}
