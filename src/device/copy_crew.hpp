#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
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
    /// How many of the crew may be at it at once. Called by any thread.
    [[nodiscard]] virtual unsigned most_threads() const noexcept = 0;

   protected:
    ~work() = default;
  };
  struct batch {
    std::shared_ptr<work> what;
    std::uint32_t parts = 0;
  };

  explicit copy_crew(unsigned most_threads);
  /// There is no work by then: what is posted keeps whoever owns the crew.
  ~copy_crew();
  copy_crew(const copy_crew&) = delete;
  copy_crew& operator=(const copy_crew&) = delete;

  [[nodiscard]] unsigned most_threads() const noexcept { return most_threads_; }
  /// Called by one of its threads, which is not to wait for the others: it may be the only one.
  [[nodiscard]] bool has_this_thread();

  /// Begins each batch in its turn, all of them by as many as the first one may have. Wakes as many
  /// as there is work for, all at once.
  void post(std::span<batch> batches);
  /// So many parts come soon: wakes those who will do them.
  void call(std::uint64_t parts);
  /// Does one part of what waits for the crew, if there is any.
  bool help();
  /// The same for a part of `it` alone.
  bool help_with(const work& it);

 private:
  struct board;
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
