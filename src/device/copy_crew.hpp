#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

/// Threads that move bytes within the program's memory: one processor moves a fifth of what a GPU's
/// link takes. They come with the first work, and sleep while there is none; not at once, because
/// copies follow one another and to be woken takes as long as copying much.
class copy_crew {
 public:
  /// What several threads do at once, in parts.
  class work {
   public:
    /// Called once for each part, by any thread.
    virtual void do_part(std::uint32_t part) = 0;

   protected:
    ~work() = default;
  };
  struct batch {
    std::shared_ptr<work> what;
    std::uint32_t parts = 0;
  };

  /// Batches that come one after the other. Who of the crew is at one stays for the next.
  class order;
  struct order_shape {
    std::size_t most_batches = 0;
    std::uint64_t parts = 0;    ///< of all of them, about
    unsigned most_threads = 0;  ///< of the crew, at it at once
  };

  explicit copy_crew(unsigned most_threads);
  /// No order is open by then: its work keeps whoever owns the crew alive.
  ~copy_crew();
  copy_crew(const copy_crew&) = delete;
  copy_crew& operator=(const copy_crew&) = delete;

  [[nodiscard]] unsigned most_threads() const noexcept { return most_threads_; }
  /// Called by one of its threads, which is not to wait for the others: it may be the only one.
  [[nodiscard]] bool has_this_thread();

  /// Its first batch comes soon: wakes those who will be at it.
  [[nodiscard]] std::shared_ptr<order> open(const order_shape& shape);
  /// Begun when those before have been. Whoever calls holds a reference of its own, since the last
  /// part may be done before this returns.
  void add(const std::shared_ptr<order>& to, batch more);
  /// All that was added has been done, and no more comes.
  void close(const std::shared_ptr<order>& it);
  /// Does one part of what waits for the crew, if there is any.
  bool help();
  /// The same for a part of `it` alone.
  bool help_with(const work& it);

 private:
  struct board;
  struct cursor;
  class helping;
  struct turnout {
    unsigned woken = 0;
    unsigned started = 0;
  };
  void muster(turnout threads);
  static void serve(const std::shared_ptr<board>& shared);

  const unsigned most_threads_;
  // Shared with the threads: the last piece of work may end the crew, on one of them.
  const std::shared_ptr<board> board_;
  std::mutex threads_mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
