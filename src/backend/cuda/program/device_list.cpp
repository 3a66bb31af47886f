#include "backend/cuda/program/device_list.hpp"

#include "backend/cuda/program/device_check.hpp"

#include <fmt/format.h>

#include <array>

namespace troupe::cuda {
namespace {

// In the format of nvidia-smi and NVML.
std::string text_of(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

result<std::vector<device_description>> list_devices(const driver& d) {
  int count = 0;
  if (auto counted = check(d.cuDeviceGetCount(&count), "cuDeviceGetCount"); !counted) {
    return std::move(counted).error();
  }
  std::vector<device_description> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    std::array<char, 256> name{};
    CUuuid uuid{};
    std::size_t bytes = 0;
    int major = 0;
    int minor = 0;
    int mode = CU_COMPUTEMODE_DEFAULT;
    for (const auto& [code, call] : std::initializer_list<std::pair<CUresult, const char*>>{
             {d.cuDeviceGet(&device, ordinal), "cuDeviceGet"},
             {d.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), device),
              "cuDeviceGetName"},
             {d.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid"},
             {d.cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem"},
             {d.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
              "cuDeviceGetAttribute"},
             {d.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
              "cuDeviceGetAttribute"},
             {d.cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device),
              "cuDeviceGetAttribute"}}) {
      if (auto asked = check(code, call); !asked) return std::move(asked).error();
    }
    found.push_back({.ordinal = ordinal,
                     .name = name.data(),
                     .uuid = text_of(uuid),
                     .architecture = fmt::format("sm_{}{}", major, minor),
                     .memory_bytes = bytes,
                     .one_process = mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS});
  }
  return found;
}

result<CUdevice> find_device(const driver& d, std::string_view uuid) {
  auto devices = list_devices(d);
  if (!devices) return std::move(devices).error();
  std::string there;
  for (const device_description& one : *devices) {
    if (one.uuid == uuid) {
      CUdevice device = 0;
      if (auto got = check(d.cuDeviceGet(&device, one.ordinal), "cuDeviceGet"); !got) {
        return std::move(got).error();
      }
      return device;
    }
    there += fmt::format(" {}", one.uuid);
  }
  return error{.code = errc::device_unavailable,
               .message = fmt::format("device {} is not here; there are:{}{}", uuid,
                                      there.empty() ? " none" : there, what_hides_devices()),
               .library = "cuda"};
}

}  // namespace troupe::cuda
