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

/// The backend of a device: its plugin and, if that has devices of its own, the chosen one.
struct chosen_backend {
  std::string plugin;
  std::shared_ptr<device_source> source{};  ///< null: the device's memory is the program's
  device_description description{};         ///< with a UUID where there is a source
};

/// Chooses the backend of a device by `config.backend` and `config.gpu`; `automatic` is CUDA if
/// that GPU can be used, else the CPU, unless the environment variable TROUPE_BACKEND is "cpu" or
/// "cuda". `in_use` are UUIDs that `gpu_choice::any` takes last.
/// \errors `invalid_argument` for another value of that variable, or if several UUIDs begin with
/// the given text; if CUDA was asked for and cannot be used: `library_missing`,
/// `device_unavailable`
[[nodiscard]] TROUPE_EXPORT result<chosen_backend> choose_backend(
    std::int32_t ordinal, const device_config& config, std::span<const std::string> in_use = {});

/// The devices of the CUDA backend. \errors the reason if there are none, with what was tried
[[nodiscard]] TROUPE_EXPORT result<std::vector<device_description>> cuda_devices();

}  // namespace troupe
