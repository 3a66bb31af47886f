#pragma once

#include <troupe/backend/provider.hpp>
#include <troupe/core/export.hpp>
#include <troupe/core/result.hpp>
#include <troupe/device/config.hpp>

#include <memory>
#include <string>
#include <vector>

// Exported for `troupe info`.
namespace troupe {

/// What serves a device: a backend's plugin and, where that brings devices of its own, which one.
struct chosen_backend {
  std::string plugin;
  std::shared_ptr<device_source> source{};  ///< null: the device's memory is the program's
  std::string device{};  ///< as the worker's side is told; empty without a source
};

/// Takes what `config.backend` says; `automatic` is CUDA where there is a device of that ordinal,
/// else the CPU, unless the environment variable TROUPE_BACKEND says "cpu" or "cuda".
/// \errors `invalid_argument` for another value of that variable; why CUDA cannot be had, where it
/// was asked for
[[nodiscard]] TROUPE_EXPORT result<chosen_backend> choose_backend(std::int32_t ordinal,
                                                                  const device_config& config);

/// The devices of the CUDA backend. \errors why there are none, with what was tried
[[nodiscard]] TROUPE_EXPORT result<std::vector<device_description>> cuda_devices();

}  // namespace troupe
