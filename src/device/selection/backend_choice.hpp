#pragma once

#include "memory/device_source.hpp"

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device_description.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

// Exported for `troupe info`.
namespace troupe {

/// What serves a device: a backend's plugin and, where that brings devices of its own, which one.
struct chosen_backend {
  std::string plugin;
  std::shared_ptr<device_source> source{};  ///< null: the device's memory is the program's
  device_description description{};         ///< with a UUID where there is a source
};

/// Takes what `config.backend` and `config.gpu` say for the device of that number; `automatic` is
/// CUDA where that GPU can be used, else the CPU, unless the environment variable TROUPE_BACKEND
/// says "cpu" or "cuda". `in_use` are UUIDs that `gpu_choice::any` takes last.
/// \errors `invalid_argument` for another value of that variable, or for the beginning of several
/// UUIDs; why CUDA cannot be had, where it was asked for: `library_missing`, `device_unavailable`
[[nodiscard]] TROUPE_EXPORT result<chosen_backend> choose_backend(
    std::int32_t ordinal, const device_config& config, std::span<const std::string> in_use = {});

/// The devices of the CUDA backend. \errors why there are none, with what was tried
[[nodiscard]] TROUPE_EXPORT result<std::vector<device_description>> cuda_devices();

}  // namespace troupe
