#include "info/driver.hpp"

#include "info/found_library.hpp"

#include <fmt/format.h>

#include <array>

namespace troupe::info {
namespace {

// From the management library, which comes with the driver.
std::string release() {
  auto library = found_library::open("libnvidia-ml.so.1");
  if (!library) return {};
  auto* initialise = library->find<int()>("nvmlInit_v2");
  auto* ask = library->find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (initialise == nullptr || ask == nullptr || initialise() != 0 ||
      ask(text.data(), static_cast<unsigned>(text.size() - 1)) != 0) {
    return {};
  }
  return text.data();
}

}  // namespace

std::optional<driver_version> find_driver() {
  auto library = found_library::open("libcuda.so.1");
  if (!library) return std::nullopt;
  driver_version found{.release = release()};
  auto* ask = library->find<int(int*)>("cuDriverGetVersion");
  int version = 0;
  if (ask != nullptr && ask(&version) == 0) {
    found.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  return found;
}

}  // namespace troupe::info
