#pragma once

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/lane.hpp"

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A driver that has kernels of the program's own: it does at once, on the processor, what it is
/// told to enqueue, and keeps what it was told.
namespace troupe::emulated {

struct launched {
  std::string kernel;
  CUlaunchConfig config{};  ///< its attributes are below
  std::vector<CUlaunchAttribute> attributes;
  CUcontext context = nullptr;
};

struct kernel {
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< offsets and sizes
  int most_threads = 1024;
  int static_shared_bytes = 0;
  std::function<void(void** parameters)> run{};
};

/// The present state, and the history. Used by one thread.
struct driver_state {
  std::map<std::string, kernel> kernels{};
  CUcontext current = reinterpret_cast<CUcontext>(std::uintptr_t{0x100});
  int images_loaded = 0;
  int images_unloaded = 0;
  std::vector<launched> launches{};
  std::vector<std::pair<CUfunction_attribute, int>> raised{};
  struct encoded_map {
    CUtensorMapDataType type{};
    std::vector<cuuint64_t> extents{};
    std::vector<cuuint64_t> strides{};
    std::vector<cuuint32_t> box{};
    std::vector<cuuint32_t> steps{};
    const void* address = nullptr;
  };
  std::vector<encoded_map> maps{};
};
[[nodiscard]] driver_state& state();

class emulated_lane final : public cuda::lane {
 public:
  [[nodiscard]] int lane() const noexcept override { return 0; }
  result<std::span<std::byte>> workspace(std::size_t) override { return std::span<std::byte>(); }
  result<std::span<std::byte>> host_workspace(std::size_t) override {
    return std::span<std::byte>();
  }
  result<void> wait_for(accelerator_lane&) override { return {}; }
  result<void> mark(std::uint64_t*, std::uint64_t) override { return {}; }
  result<void> check() override { return {}; }
  result<void> finish() override { return {}; }
  [[nodiscard]] cuda::native_stream stream() const noexcept override {
    return cuda::native_stream(reinterpret_cast<void*>(std::uintptr_t{0x700}));
  }
  [[nodiscard]] std::shared_ptr<void>& attachment(const void* key) override {
    return attachments_[key];
  }
  [[nodiscard]] int multiprocessors() const noexcept override { return 132; }
  [[nodiscard]] result<void> outcome_of(int code, std::string_view call) const override {
    return cuda::check(static_cast<cudaError_t>(code), call);
  }

 private:
  std::map<const void*, std::shared_ptr<void>> attachments_;
};

}  // namespace troupe::emulated
