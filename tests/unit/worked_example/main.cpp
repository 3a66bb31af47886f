// region: program
#include "running_sum.hpp"

#include <troupe/troupe.hpp>

#include <iostream>

int main(int argc, char** argv) {
  using namespace worked_example;
  // First of all: in a process that a device has started, this serves requests and does not return
  // before the device lets it go.
  if (const auto status = troupe::worker_entry(argc, argv, &add_operations)) return *status;

  troupe::system system;
  troupe::device device = system.device(0, {.own_operations = &add_operations});
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  for (std::int64_t i = 0; i < 4; ++i)
    x[i] = static_cast<float>(i + 1);
  const double sum = device.ask(running_sum{.x = x, .y = y}).get();
  std::cout << "1 + 2 + 3 + 4 = " << sum << '\n';
  return sum == 10 && y[2] == 6 ? 0 : 1;
}
// endregion: program
