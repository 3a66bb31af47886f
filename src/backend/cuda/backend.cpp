#include "backend/cuda/context/device_accelerator.hpp"
#include "backend/cuda/program/device_list.hpp"
#include "backend/cuda/program/memory_source.hpp"

#include <troupe/base/export.hpp>

// The entry points of the plugin. The results are the library's own C++ types: plugin and library
// are built together, and refuse each other by version if they are not.
extern "C" {

// Names the part of a user's plugin for this backend.
TROUPE_EXPORT const char* troupe_backend_name() { return "cuda"; }

// In the program.

TROUPE_EXPORT void troupe_backend_devices(std::vector<troupe::device_description>& found,
                                          troupe::result<void>& outcome) {
  const auto driver = troupe::cuda::driver::load();
  if (!driver) {
    outcome = const_cast<troupe::result<const troupe::cuda::driver*>&>(driver).error();
    return;
  }
  auto devices = troupe::cuda::list_devices(**driver);
  if (devices) {
    found = *std::move(devices);
  } else {
    outcome = std::move(devices).error();
  }
}

TROUPE_EXPORT void troupe_backend_open(std::int32_t ordinal,
                                       std::shared_ptr<troupe::device_source>& opened,
                                       troupe::result<void>& outcome) {
  auto source = troupe::cuda::memory_source::open(ordinal);
  if (source) {
    opened = *std::move(source);
  } else {
    outcome = std::move(source).error();
  }
}

// In a worker.

TROUPE_EXPORT void troupe_backend_accelerator(const troupe::accelerator_config& config,
                                              std::unique_ptr<troupe::accelerator>& made,
                                              troupe::result<void>& outcome) {
  auto accelerator = troupe::cuda::device_accelerator::make(config);
  if (accelerator) {
    made = *std::move(accelerator);
  } else {
    outcome = std::move(accelerator).error();
  }
}
}
