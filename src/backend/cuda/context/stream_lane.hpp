#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/recording/stream_recorder.hpp"
#include "backend/cuda/driver.hpp"
#include "base/scratch.hpp"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace troupe::cuda {

/// A lane on a stream of its own. Used by one thread.
class stream_lane final : public lane {
 public:
  [[nodiscard]] static result<std::unique_ptr<accelerator_lane>> make(
      const driver& d, int number, int multiprocessors, std::shared_ptr<kept_blobs> blobs = {},
      library_methods methods = {});
  ~stream_lane() override;
  stream_lane(const stream_lane&) = delete;
  stream_lane& operator=(const stream_lane&) = delete;

  [[nodiscard]] int lane() const noexcept override { return number_; }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override;
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return host_workspace_.take(bytes);
  }
  [[nodiscard]] result<void> wait_for(accelerator_lane& other) override;
  [[nodiscard]] result<void> mark(std::uint64_t* where, std::uint64_t value) override;
  [[nodiscard]] result<void> mark_aside(std::uint64_t* where, std::uint64_t value) override;
  [[nodiscard]] result<void> stamp(std::uint64_t* where) override;
  void begin_range(std::string_view request) noexcept override;
  void end_range() noexcept override;
  [[nodiscard]] result<void> check() override;
  [[nodiscard]] result<void> finish() override;

  [[nodiscard]] bool is_recording() const noexcept override {
    return recorder_ && recorder_->is_recording();
  }
  void retain(std::shared_ptr<const void> object) override {
    if (recorder_) recorder_->retain(std::move(object));
  }
  [[nodiscard]] accelerator_lane* twin() override;
  void replace_twin() noexcept override;
  [[nodiscard]] result<void> begin_recording() override { return recorder_->begin(); }
  [[nodiscard]] result<void> check_recording() override { return recorder_->check(); }
  [[nodiscard]] result<std::unique_ptr<recorded_work>> end_recording(
      std::unique_ptr<recorded_work> like) override {
    return recorder_->end(std::move(like));
  }
  [[nodiscard]] std::byte* place_for_failure() override { return recorder_->place_for_failure(); }
  [[nodiscard]] result<void> launch(recorded_work& work, std::byte* reply) override;
  [[nodiscard]] result<void> begin_condition(const recorded_condition& c) override {
    return recorder_->begin_condition(c);
  }
  [[nodiscard]] result<void> begin_body(std::uint64_t number) override {
    return recorder_->begin_body(number);
  }
  [[nodiscard]] result<void> end_body() override { return recorder_->end_body(); }
  [[nodiscard]] result<void> end_condition() override { return recorder_->end_condition(); }
  [[nodiscard]] result<void> record_store(std::uint64_t* where, std::uint64_t value) override {
    return recorder_->record_store(where, value);
  }

  [[nodiscard]] native_stream stream() const noexcept override { return native_stream(stream_); }
  [[nodiscard]] std::shared_ptr<void>& attachment(const void* key) override {
    return attachments_[key];
  }
  [[nodiscard]] std::shared_ptr<kept_blobs> blobs() const override { return blobs_; }
  [[nodiscard]] library_methods methods() const noexcept override { return methods_; }
  [[nodiscard]] int multiprocessors() const noexcept override { return multiprocessors_; }
  [[nodiscard]] result<void> outcome_of(int code, std::string_view call) const override;

 private:
  stream_lane(const driver& d, int number, int multiprocessors, std::shared_ptr<kept_blobs> blobs,
              library_methods methods) noexcept
      : driver_(d),
        number_(number),
        multiprocessors_(multiprocessors),
        blobs_(std::move(blobs)),
        methods_(methods) {}

  [[nodiscard]] result<void> grow_workspace(std::size_t bytes);
  [[nodiscard]] result<void> allocate_workspace(std::size_t bytes);
  [[nodiscard]] result<void> create(CUstream& made, int priority) const;
  [[nodiscard]] result<void> create_urgent(CUstream& made) const;
  [[nodiscard]] result<void> make_aside();
  [[nodiscard]] result<void> store(CUstream in, std::uint64_t* where, std::uint64_t value) const;
  [[nodiscard]] result<void> follow(CUstream later, CUevent passed, CUstream earlier) const;

  const driver& driver_;
  int number_;
  int multiprocessors_;
  std::shared_ptr<kept_blobs> blobs_;
  library_methods methods_;
  CUstream stream_ = nullptr;
  CUevent passed_ = nullptr;  // recorded again for each stream that waits for this one
  CUstream aside_ =
      nullptr;  // stores marks that this stream does not wait for; created when needed
  CUevent stored_ = nullptr;      // recorded in it
  std::uint64_t last_aside_ = 0;  // the last mark that it stores; 0: this stream has waited for it
  CUdeviceptr workspace_ = 0;
  std::size_t workspace_bytes_ = 0;
  detail::scratch host_workspace_;
  std::unordered_map<const void*, std::shared_ptr<void>> attachments_;
  std::optional<stream_recorder> recorder_;          // a twin has one
  std::vector<CUdeviceptr> old_rooms_;               // in a twin: recorded kernels work there
  std::vector<std::unique_ptr<stream_lane>> twins_;  // the last one is in use
  std::size_t replaced_twins_ = 0;
};

}  // namespace troupe::cuda
