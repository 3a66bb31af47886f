#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/dnn/cuda/plan/compiled_plan.hpp"
#include "libraries/dnn/cuda/plan/graph_description.hpp"

#include <troupe/base/result.hpp>
#include <troupe/plugin/kept_blobs.hpp>
#include <troupe/plugin/work_owner.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace troupe::cuda {

/// All that a plan depends on, but for the machine and the library's version.
using plan_words = std::vector<std::int64_t>;

struct plan_words_hash {
  [[nodiscard]] std::size_t operator()(const plan_words& words) const noexcept;
};

/// A plan that is there, or is being made, or cannot be.
struct plan_entry {
  enum class state : std::uint8_t { pending, ready, failed };

  std::atomic<state> now{state::pending};  ///< release: the other is complete
  std::shared_ptr<compiled_plan> plan;
  error failure;
  std::atomic<std::int64_t> begun_ns{0};  ///< when a thread took it up
  bool only_loaded = false;               ///< nobody has asked for it: if it fails, it may be built
  /// Whether it was compared with the graphs that it is for, which what is loaded ahead is only
  /// when a request brings them.
  std::atomic<bool> compared{true};
};

/// How plans came about, since the context was made.
struct plan_counts {
  std::int64_t built = 0;     ///< compiled by cuDNN
  std::int64_t restored = 0;  ///< from bytes, because a request asked for them
  std::int64_t ahead = 0;     ///< from bytes, before a request asked for them
  std::int64_t damaged = 0;   ///< bytes that were no good
  std::int64_t failed = 0;    ///< cuDNN had no engine
  std::int64_t kept = 0;      ///< plans that are there now
  std::int64_t pending = 0;   ///< being made, or waiting for that
};

/// The plans of a context. They are made on threads of its own, first from the bytes that an
/// earlier worker has left (`kept_blobs`), else by cuDNN, and then their bytes are left to the next
/// one.
///
/// Where there are blobs, those that any worker of the device publishes are loaded ahead, as far as
/// there is room.
class plan_service {
 public:
  static constexpr std::size_t most_plans = 256;

  /// That of the current context, for as long as the process lives.
  [[nodiscard]] static result<plan_service*> of_current_context();

  plan_service(const plan_service&) = delete;
  plan_service& operator=(const plan_service&) = delete;
  ~plan_service();

  /// True when it is decided whether there is a plan of that key, or that took too long. If nobody
  /// has asked for it, it begins to be made, from the first of the graphs that cuDNN has an engine
  /// for; `graphs()` says which.
  template <class Graphs>
  [[nodiscard]] bool prepare(const plan_words& key, const std::shared_ptr<kept_blobs>& blobs,
                             Graphs&& graphs) {
    auto entry = look(key);
    if (!entry) entry = start(key, graphs(), blobs);
    return is_decided(*entry);
  }
  /// The plan; waits for it where it was not prepared, or dropped since then. \errors why there is
  /// none, which is not tried again if that was `unsupported`
  template <class Graphs>
  [[nodiscard]] result<std::shared_ptr<compiled_plan>> find(
      const plan_words& key, const std::shared_ptr<kept_blobs>& blobs, Graphs&& graphs) {
    for (;;) {
      auto entry = look(key);
      if (!entry) entry = start(key, graphs(), blobs);
      auto found = wait(key, *entry);
      if (found && !entry->compared && !compare(key, entry, graphs(), blobs)) continue;
      if (found || !entry->only_loaded) return found;
    }
  }

  /// The plan if it is there; null while it is made, and where there is none. If nobody has asked
  /// for it, it begins to be made.
  template <class Graphs>
  [[nodiscard]] std::shared_ptr<compiled_plan> find_ready(const plan_words& key,
                                                          const std::shared_ptr<kept_blobs>& blobs,
                                                          Graphs&& graphs) {
    auto entry = look(key);
    if (!entry) entry = start(key, graphs(), blobs);
    const bool ready = entry->now.load(std::memory_order_acquire) == plan_entry::state::ready &&
                       (entry->compared || compare(key, entry, graphs(), blobs));
    return ready ? entry->plan : nullptr;
  }

  /// Loads what is kept, and what will be, from here on. Once for all.
  void load_ahead(std::shared_ptr<kept_blobs> blobs);

  [[nodiscard]] plan_counts counts();
  /// Ends its threads, once what they are at has ended.
  void stop() noexcept;

 private:
  [[nodiscard]] std::shared_ptr<plan_entry> look(const plan_words& key);
  std::shared_ptr<plan_entry> start(const plan_words& key, std::vector<graphs::description> graphs,
                                    std::shared_ptr<kept_blobs> blobs);
  [[nodiscard]] result<std::shared_ptr<compiled_plan>> wait(const plan_words& key,
                                                            const plan_entry& entry);
  [[nodiscard]] static bool is_decided(const plan_entry& entry) noexcept;
  /// False for a plan that does not fit the graphs: it is dropped.
  [[nodiscard]] bool compare(const plan_words& key, const std::shared_ptr<plan_entry>& entry,
                             std::span<const graphs::description> graphs,
                             const std::shared_ptr<kept_blobs>& blobs);

  struct job {
    plan_words key;
    std::shared_ptr<plan_entry> entry;
    std::vector<graphs::description> graphs;  ///< none: only to be loaded
    std::shared_ptr<kept_blobs> blobs;
    std::vector<std::byte> image;  ///< of one that is loaded ahead
    work_owner owner;              ///< who has asked first
  };

  plan_service(int device, std::string identity);

  void work(const std::stop_token& stop);
  void watch(const std::stop_token& stop, const std::shared_ptr<kept_blobs>& blobs);
  void take_ahead(kept_blobs::blob found, const std::shared_ptr<kept_blobs>& blobs);
  [[nodiscard]] result<std::shared_ptr<compiled_plan>> make(cudnnHandle_t library, const job& j);
  [[nodiscard]] std::shared_ptr<compiled_plan> share(std::unique_ptr<compiled_plan> plan);
  /// Null where they are no good: then they are dropped, as those are that end a worker here.
  [[nodiscard]] std::shared_ptr<compiled_plan> restore(cudnnHandle_t library, const job& j,
                                                       std::span<const std::byte> name,
                                                       std::span<const std::byte> bytes);
  void finish(const job& j, result<std::shared_ptr<compiled_plan>> outcome);
  [[nodiscard]] std::vector<std::byte> name_of(const plan_words& key) const;

  int device_;
  std::string identity_;  ///< of device, driver and library: the beginning of each blob's key

  std::mutex mutex_;
  std::condition_variable_any work_there_;
  std::condition_variable decided_;
  lru_cache<plan_words, std::shared_ptr<plan_entry>, plan_words_hash> plans_{most_plans};
  std::deque<job> asked_;
  std::deque<job> ahead_;
  std::shared_ptr<kept_blobs> watched_;
  plan_counts counts_;
  // What nobody uses any more. Its code may still run, and is unloaded only then: that is for a
  // thread of this service to wait for.
  std::mutex dropped_mutex_;
  std::vector<std::unique_ptr<compiled_plan>> dropped_;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace troupe::cuda
