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

/// Everything that selects a plan, except the machine and the library's version.
using plan_words = std::vector<std::int64_t>;

struct plan_words_hash {
  [[nodiscard]] std::size_t operator()(const plan_words& words) const noexcept;
};

/// A plan that is ready, pending or impossible.
struct plan_entry {
  enum class state : std::uint8_t { pending, ready, failed };

  std::atomic<state> now{state::pending};  ///< release: all other members are complete
  std::shared_ptr<compiled_plan> plan;
  error failure;
  std::atomic<std::int64_t> begun_ns{0};  ///< when a thread began with it
  bool only_loaded = false;  ///< no request has asked for it: if it fails, it may be built
  /// True once the plan has been compared with its graphs. Plans that are loaded ahead are compared
  /// when a request brings the graphs.
  std::atomic<bool> compared{true};
};

/// Statistics of plans since the context was made.
struct plan_counts {
  std::int64_t built = 0;     ///< compiled by cuDNN
  std::int64_t restored = 0;  ///< from bytes, because a request asked for them
  std::int64_t ahead = 0;     ///< from bytes, before any request asked for them
  std::int64_t damaged = 0;   ///< bytes that were damaged
  std::int64_t failed = 0;    ///< cuDNN had no engine
  std::int64_t kept = 0;      ///< plans in the cache now
  std::int64_t pending = 0;   ///< being made or queued
};

/// The plans of a context. Its own threads make them: first from the bytes that an earlier worker
/// has left (`kept_blobs`), otherwise by cuDNN. New plans' bytes are left for the next worker.
///
/// If there are blobs, it loads ahead the plans that any worker of the device publishes, while
/// there is room.
class plan_service {
 public:
  static constexpr std::size_t most_plans = 256;

  /// The service of the current context. It lives as long as the process.
  [[nodiscard]] static result<plan_service*> of_current_context();

  plan_service(const plan_service&) = delete;
  plan_service& operator=(const plan_service&) = delete;
  ~plan_service();

  /// True once the plan of this key exists or has failed, or after a time limit. The first request
  /// for a key starts to make its plan, from the first of `graphs()` for which cuDNN has an engine.
  template <class Graphs>
  [[nodiscard]] bool prepare(const plan_words& key, const std::shared_ptr<kept_blobs>& blobs,
                             Graphs&& graphs) {
    auto entry = look(key);
    if (!entry) entry = start(key, graphs(), blobs);
    return is_decided(*entry);
  }
  /// Returns the plan. Waits if it was not prepared, or has been dropped. \errors the reason why
  /// there is no plan; `unsupported` is final, anything else is tried again
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

  /// Returns the plan if it is ready, otherwise null. The first request for a key starts to make
  /// its plan.
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

  /// Loads all kept plans, and those that are kept from here on. Repeated calls do nothing.
  void load_ahead(std::shared_ptr<kept_blobs> blobs);

  [[nodiscard]] plan_counts counts();
  /// Ends the threads after their current work.
  void stop() noexcept;

 private:
  [[nodiscard]] std::shared_ptr<plan_entry> look(const plan_words& key);
  std::shared_ptr<plan_entry> start(const plan_words& key, std::vector<graphs::description> graphs,
                                    std::shared_ptr<kept_blobs> blobs);
  [[nodiscard]] result<std::shared_ptr<compiled_plan>> wait(const plan_words& key,
                                                            const plan_entry& entry);
  [[nodiscard]] static bool is_decided(const plan_entry& entry) noexcept;
  /// Returns false, and drops the plan, if it does not match the graphs.
  [[nodiscard]] bool compare(const plan_words& key, const std::shared_ptr<plan_entry>& entry,
                             std::span<const graphs::description> graphs,
                             const std::shared_ptr<kept_blobs>& blobs);

  struct job {
    plan_words key;
    std::shared_ptr<plan_entry> entry;
    std::vector<graphs::description> graphs;  ///< empty: load only, never build
    std::shared_ptr<kept_blobs> blobs;
    std::vector<std::byte> image;  ///< only if it is loaded ahead
    work_owner owner;              ///< the owner of the first request for it
  };

  plan_service(int device, std::string identity);

  void work(const std::stop_token& stop);
  void watch(const std::stop_token& stop, const std::shared_ptr<kept_blobs>& blobs);
  void take_ahead(kept_blobs::blob found, const std::shared_ptr<kept_blobs>& blobs);
  [[nodiscard]] result<std::shared_ptr<compiled_plan>> make(cudnnHandle_t library, const job& j);
  [[nodiscard]] std::shared_ptr<compiled_plan> share(std::unique_ptr<compiled_plan> plan);
  /// Returns null if the bytes are invalid. Such bytes are dropped, and also those that end a
  /// worker here.
  [[nodiscard]] std::shared_ptr<compiled_plan> restore(cudnnHandle_t library, const job& j,
                                                       std::span<const std::byte> name,
                                                       std::span<const std::byte> bytes);
  void finish(const job& j, result<std::shared_ptr<compiled_plan>> outcome);
  [[nodiscard]] std::vector<std::byte> name_of(const plan_words& key) const;

  int device_;
  std::string identity_;  ///< device, driver and library: the prefix of each blob's key

  std::mutex mutex_;
  std::condition_variable_any work_there_;
  std::condition_variable decided_;
  lru_cache<plan_words, std::shared_ptr<plan_entry>, plan_words_hash> plans_{most_plans};
  std::deque<job> asked_;
  std::deque<job> ahead_;
  std::shared_ptr<kept_blobs> watched_;
  plan_counts counts_;
  // Plans without users. Unloading a plan waits for its running code, so a thread of this service
  // does it.
  std::mutex dropped_mutex_;
  std::vector<std::unique_ptr<compiled_plan>> dropped_;
  std::vector<std::jthread> threads_;  // last: they use the other members
};

}  // namespace troupe::cuda
