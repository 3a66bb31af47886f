#include "backend/cuda/program/device_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace troupe::cuda {
namespace {

int attribute(const driver& d, CUdevice_attribute which, CUdevice device) {
  int value = 0;
  return d.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

bool one_runs_on(std::string_view architecture, int major, int minor) noexcept {
  if (architecture == "native" || architecture.starts_with("all")) return true;  // unknown
  int number = 0;
  const char* const begin = std::to_address(architecture.begin());
  const char* const end = begin + architecture.size();
  const auto [rest, failed] = std::from_chars(begin, end, number);
  if (failed != std::errc()) return false;
  const std::string_view kind(rest, static_cast<std::size_t>(end - rest));
  const int device = 10 * major + minor;
  if (kind.starts_with("a")) return device == number;
  const bool newer = device >= number;
  const bool binary = newer && number / 10 == major;
  if (kind.starts_with("f") || kind == "-real") return binary;
  return newer;  // the driver translates PTX if there is no binary
}

error unusable(const device_description& described, std::string_view why) {
  return error{.code = errc::device_unavailable,
               .message = fmt::format("device {} ({}, {}) {}", described.ordinal, described.name,
                                      described.uuid, why),
               .library = "cuda"};
}

}  // namespace

bool runs_on(std::string_view architectures, int major, int minor) noexcept {
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find(';'), architectures.size());
    if (one_runs_on(architectures.substr(0, end), major, minor)) return true;
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
  }
  return false;
}

result<void> check_usable(const driver& d, CUdevice device, const device_description& described) {
  if (attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device) == CU_COMPUTEMODE_PROHIBITED) {
    return unusable(described, fmt::format("lets no program in, its compute mode is prohibited: "
                                           "`nvidia-smi -i {} -c DEFAULT` changes that",
                                           described.uuid));
  }
  const int major = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  const int minor = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (!runs_on(TROUPE_CUDA_ARCHITECTURES, major, minor)) {
    return unusable(described,
                    fmt::format("is of architecture {}, this build has code for {} only: build "
                                "with -D TROUPE_CUDA_ARCHITECTURES={}{}",
                                described.architecture, TROUPE_CUDA_ARCHITECTURES, major, minor));
  }
  return {};
}

std::string how_to_get_a_context(const driver& d, CUdevice device) {
  switch (attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device)) {
    case CU_COMPUTEMODE_PROHIBITED:
      return "its compute mode is prohibited: `nvidia-smi -c DEFAULT` changes that";
    case CU_COMPUTEMODE_EXCLUSIVE_PROCESS:
      return "its compute mode is exclusive and another process has it: end that one "
             "(`nvidia-smi` names it), or allow several with `nvidia-smi -c DEFAULT`";
    default:
      return "`nvidia-smi` says whether its memory is full and which processes have it";
  }
}

}  // namespace troupe::cuda
