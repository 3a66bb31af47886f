#pragma once

#include "backend/cuda/context/lane.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::cuda {

/// A lane whose workspace is a part of another lane's: for executors that run inside of another
/// executor, whose own memory is there, too.
class part_lane final : public lane {
 public:
  part_lane(cuda::lane& whole, std::span<std::byte> part) noexcept : whole_(whole), part_(part) {}

  [[nodiscard]] int lane() const noexcept override {
    return static_cast<const lane_context&>(whole_).lane();
  }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override {
    if (bytes > part_.size()) {
      return error{.code = errc::out_of_memory,
                   .message = std::to_string(bytes) + " bytes of workspace within another's"};
    }
    return part_.first(bytes);
  }
  [[nodiscard]] std::shared_ptr<kept_blobs> blobs() const override { return whole_.blobs(); }
  [[nodiscard]] library_methods methods() const noexcept override { return whole_.methods(); }
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return whole_.host_workspace(bytes);
  }
  [[nodiscard]] native_stream stream() const noexcept override { return whole_.stream(); }
  [[nodiscard]] std::shared_ptr<void>& attachment(const void* key) override {
    return whole_.attachment(key);
  }
  [[nodiscard]] int multiprocessors() const noexcept override { return whole_.multiprocessors(); }
  [[nodiscard]] result<void> outcome_of(int code, std::string_view call) const override {
    return whole_.outcome_of(code, call);
  }
  [[nodiscard]] bool is_recording() const noexcept override { return whole_.is_recording(); }
  void retain(std::shared_ptr<const void> object) override { whole_.retain(std::move(object)); }
  void note_provisional() noexcept override { whole_.note_provisional(); }
  [[nodiscard]] result<void> wait_for(accelerator_lane& other) override {
    return whole_.wait_for(other);
  }
  [[nodiscard]] result<void> mark(std::uint64_t* where, std::uint64_t value) override {
    return whole_.mark(where, value);
  }
  [[nodiscard]] result<void> check() override { return whole_.check(); }
  [[nodiscard]] result<void> finish() override { return whole_.finish(); }

 private:
  cuda::lane& whole_;
  std::span<std::byte> part_;
};

}  // namespace troupe::cuda
