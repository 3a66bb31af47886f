#pragma once

#include "libraries/collective/shared/nccl/functions.hpp"
#include "wire/world_words.hpp"

#include <troupe/base/result.hpp>
#include <troupe/request/world_part.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe::collective::nccl {

/// This worker's part of one connection (`wire::world_page::nccl_rank`). A thread of its own makes
/// the communicator, watches it, and aborts it once the connection is broken: a kernel that waits
/// for a lost peer ends with that.
class connection {
 public:
  connection(const functions& nccl, wire::world_page& page, int rank, int ranks,
             std::uint64_t number) noexcept
      : nccl_(nccl), page_(page), rank_(rank), ranks_(ranks), number_(number) {}

  /// While it lives, the communicator is not aborted, for a tenth of a second at most.
  class use {
   public:
    explicit use(std::shared_ptr<connection> of) noexcept;
    use(use&&) noexcept = default;
    use& operator=(use&&) = delete;
    ~use();
    /// Null if it is not made, or broken.
    [[nodiscard]] communicator get() const noexcept { return comm_; }
    [[nodiscard]] const functions& nccl() const noexcept { return of_->nccl_; }
    void fail(std::string_view why) const noexcept { of_->fail(why); }

   private:
    std::shared_ptr<connection> of_;
    communicator comm_ = nullptr;
  };

  [[nodiscard]] bool is(const wire::world_page& page, std::uint64_t number) const noexcept {
    return &page_ == &page && number_ == number;
  }
  /// Marks it as broken. The reason is seen in the world's health.
  void fail(std::string_view why) noexcept;

 private:
  friend class connections;

  void serve(void (*attach)());
  [[nodiscard]] bool make();
  [[nodiscard]] bool take_id(unique_id& id);
  [[nodiscard]] bool wait_for_all();
  [[nodiscard]] bool is_broken() const noexcept;
  void watch();
  void pause(std::chrono::milliseconds longest) noexcept;
  void end();
  [[nodiscard]] wire::world_page::nccl_rank& mine() noexcept {
    return page_.nccl[static_cast<std::size_t>(rank_)];
  }

  const functions& nccl_;
  wire::world_page& page_;
  const int rank_;
  const int ranks_;
  const std::uint64_t number_;
  std::mutex mutex_;  // guards the next two
  communicator comm_ = nullptr;
  int users_ = 0;
};

/// All parts of connections in this process. Never destroyed: their threads end with the process.
class connections {
 public:
  [[nodiscard]] static connections& of_this_process();

  /// Begins to make one, in the background; does nothing if it has begun. `attach` is called in its
  /// thread first.
  void begin(const functions& nccl, const world_part& part, std::uint64_t number, void (*attach)());
  /// The part of the connection that a request names. If this process has none, the worker that had
  /// it is lost, so the connection is marked as broken.
  [[nodiscard]] connection::use find(const world_part& part);

 private:
  std::mutex mutex_;  // guards the list
  std::vector<std::shared_ptr<connection>> all_;
};

}  // namespace troupe::collective::nccl
