#include "libraries/dnn/cuda/plan/library.hpp"

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/per_context.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;

// Source: cudnn_graph_v9.h, cudnnStatus_t: the thousands are categories.
errc kind_of(cudnnStatus_t status) noexcept {
  constexpr int host_allocation = 4003;
  constexpr int device_allocation = 4004;
  const int number = static_cast<int>(status);
  if (number == host_allocation || number == device_allocation) return errc::out_of_memory;
  if (number == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH) return errc::version_mismatch;
  if (number == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED) return errc::library_missing;
  return number / 1000 == 3 ? errc::unsupported : errc::library_error;
}

/// The folders from which parts of cuDNN have been loaded.
std::vector<std::string> folders_of_cudnn() {
  std::vector<std::string> found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        const std::string path = object->dlpi_name != nullptr ? object->dlpi_name : "";
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos || !path.substr(slash + 1).starts_with("libcudnn")) return 0;
        auto& list = *static_cast<std::vector<std::string>*>(to);
        std::string folder = path.substr(0, slash);
        if (std::ranges::find(list, folder) == list.end()) list.push_back(std::move(folder));
        return 0;
      },
      &found);
  return found;
}

// The parts of cuDNN call each other without checking versions.
result<void> check_folders() {
  const std::vector<std::string> folders = folders_of_cudnn();
  if (folders.size() <= 1) return {};
  return error{.code = errc::version_mismatch,
               .message = fmt::format("parts of cuDNN were loaded from {} and from {}: all must be "
                                      "of one version; take one of them out of LD_LIBRARY_PATH",
                                      folders[0], folders[1]),
               .library = "cudnn"};
}

}  // namespace

result<void> check(cudnnStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 512> words{};
  cudnnGetLastErrorString(words.data(), words.size());
  words.back() = '\0';
  const bool lost = stream != nullptr && context_is_lost(stream);
  return error{.code = lost ? errc::device_fault : kind_of(status),
               .message = words.front() != '\0' ? words.data() : "cuDNN gives no further reason",
               .library = "cudnn",
               .call = std::string(call),
               .code_name = cudnnGetErrorString(status),
               .vendor_code = static_cast<std::int64_t>(status)};
}

result<int> compute_capability() {
  static per_context<int, int> known;
  int device = 0;
  TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
  return *TRY(known.of(device, [device]() -> result<std::unique_ptr<int>> {
    int major = 0;
    int minor = 0;
    for (auto [to, what] : {std::pair(&major, cudaDevAttrComputeCapabilityMajor),
                            std::pair(&minor, cudaDevAttrComputeCapabilityMinor)})
      TRY(check(cudaDeviceGetAttribute(to, what, device), "cudaDeviceGetAttribute"));
    return std::make_unique<int>(10 * major + minor);
  }));
}

result<cudnn_handle> cudnn_handle::make() {
  cudnnHandle_t handle = nullptr;
  if (auto made = check(cudnnCreate(&handle), "cudnnCreate"); !made) {
    // Here cuDNN reports a failed allocation as "not initialized".
    if (made.error().vendor_code == CUDNN_STATUS_NOT_INITIALIZED) {
      made.error().code = errc::out_of_memory;
    }
    return std::move(made).error();
  }
  cudnn_handle owned(handle);
  TRY(check_folders());
  return owned;
}

result<cudnnHandle_t> cudnn_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto made = TRY(cudnn_handle::make());
    TRY(check(cudnnSetStream(made.get(), where.stream()), "cudnnSetStream"));
    place = std::make_shared<cudnn_handle>(std::move(made));
  }
  return static_cast<cudnn_handle*>(place.get())->get();
}

result<cudnn_descriptor> cudnn_descriptor::make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t native = nullptr;
  TRY(check(cudnnBackendCreateDescriptor(type, &native), "cudnnBackendCreateDescriptor"));
  return cudnn_descriptor(native);
}

result<void> cudnn_descriptor::set(cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, std::int64_t count,
                                   const void* values) {
  return check(cudnnBackendSetAttribute(get(), name, type, count, values),
               "cudnnBackendSetAttribute");
}

result<void> cudnn_descriptor::finalize() {
  return check(cudnnBackendFinalize(get()), "cudnnBackendFinalize");
}

}  // namespace troupe::cuda
