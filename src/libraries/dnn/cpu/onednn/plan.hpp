#pragma once

#include "backend/lru_cache.hpp"

#include <troupe/plugin/executor.hpp>

#include <dnnl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::cpu {

/// The primitives that oneDNN runs in order for a request, for any addresses.
class onednn_plan {
 public:
  /// The memory of an operand, by its number; of what lies in workspace, one is counted on.
  using place = std::size_t;
  static constexpr std::size_t operands = 8;
  using addresses = std::array<std::byte*, operands>;

  [[nodiscard]] static const dnnl::engine& engine();
  /// That scratch memory is an operand.
  [[nodiscard]] static dnnl::primitive_attr with_own_scratchpad();

  /// Memory in workspace.
  place workspace(const dnnl::memory::desc& what);
  void describe(place operand, const dnnl::memory::desc& what) { descs_[operand] = what; }
  [[nodiscard]] const dnnl::memory::desc& desc(place p) const { return descs_[p]; }
  /// The place of `operand` in the form `wanted`: its own, or in workspace after a move.
  place moved(place operand, const dnnl::memory::desc& wanted);
  void add(dnnl::primitive what, std::vector<std::pair<int, place>> arguments);
  /// to = alpha · from + beta · to, in any layouts and types.
  void add_move(place from, place to, float alpha = 1, float beta = 0);

  /// How many it runs on, which are those that it was made for.
  void set_threads(int threads) noexcept { threads_ = threads; }

  /// \errors `out_of_memory` for the lane's workspace; `library_error`
  result<void> run(const addresses& at, lane_context& lane) const;

 private:
  struct step {
    dnnl::primitive what;
    std::vector<std::pair<int, place>> arguments;
  };

  std::vector<dnnl::memory::desc> descs_{operands};
  std::vector<std::size_t> offsets_ = std::vector<std::size_t>(operands);
  std::size_t bytes_ = 0;
  std::vector<step> steps_;
  int threads_ = 1;
};

/// The plans used last, of all lanes. That oneDNN has none is kept as well.
template <class Key>
class onednn_plans {
 public:
  template <class Make>
  [[nodiscard]] std::shared_ptr<const onednn_plan> find(const Key& key, Make make) {
    const std::lock_guard hold(lock_);
    if (const auto* const found = plans_.find(key)) return *found;
    return plans_.add(key, make());
  }

 private:
  static constexpr std::size_t most = 256;

  std::mutex lock_;
  lru_cache<Key, std::shared_ptr<const onednn_plan>, typename Key::hash> plans_{most};
};

}  // namespace troupe::cpu
