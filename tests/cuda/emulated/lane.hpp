#pragma once

#include "backend/cuda/context/lane.hpp"
#include "conformance/guarded_workspace.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::conformance {

/// Memory, aligned as a device's is.
class blocks {
 public:
  std::byte* take(std::size_t bytes) {
    taken_.emplace_back(static_cast<std::byte*>(::operator new(bytes, alignment)));
    return taken_.back().get();
  }
  void give_back() { taken_.clear(); }

 private:
  static constexpr std::align_val_t alignment{256};
  struct deleter {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::vector<std::unique_ptr<std::byte, deleter>> taken_;
};

/// A lane whose work is done when it is enqueued.
class emulated_lane final : public cuda::lane {
 public:
  int lane() const noexcept override { return 0; }
  result<std::span<std::byte>> workspace(std::size_t bytes) override {
    return workspace_.take(bytes);
  }
  result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return host_workspace_.take(bytes);
  }
  void expect_untouched() const {
    workspace_.expect_untouched();
    host_workspace_.expect_untouched();
  }
  result<void> wait_for(accelerator_lane&) override { return {}; }
  result<void> mark(std::uint64_t* where, std::uint64_t value) override {
    *where = value;
    return {};
  }
  result<void> check() override { return {}; }
  result<void> finish() override { return {}; }
  cuda::native_stream stream() const noexcept override { return cuda::native_stream(nullptr); }
  std::shared_ptr<void>& attachment(const void* key) override { return attached_[key]; }
  int multiprocessors() const noexcept override { return 1; }
  library_methods methods() const noexcept override { return methods_; }
  void use(library_methods methods) noexcept { methods_ = methods; }
  result<void> outcome_of(int code, std::string_view call) const override {
    if (code == 0) return {};
    return error{.code = errc::library_error, .call = std::string(call), .vendor_code = code};
  }

 private:
  library_methods methods_ = methods_by_environment({});
  guarded_workspace workspace_;
  guarded_workspace host_workspace_;
  std::map<const void*, std::shared_ptr<void>> attached_;
};

}  // namespace troupe::conformance
