#pragma once

#include <troupe/device/device.hpp>
#include <troupe/dnn/kv_append.hpp>
#include <troupe/dnn/kv_cache.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe::dnn::detail {

/// One sequence as it was when its step began, and the pages that the step has added.
struct stepping_sequence {
  kv_sequence id{};
  std::int64_t length = 0;
  std::int64_t tokens = 0;            ///< new ones
  std::int64_t first = 0;             ///< of these among the new tokens of all sequences
  std::vector<std::int32_t> pages{};  ///< all, with those added
  std::size_t added = 0;
};

/// A step that is not over.
struct open_step {
  std::vector<stepping_sequence> sequences{};
  bool packed = false;
  any_tensor table{};
  any_tensor lengths_q{};
  any_tensor lengths_kv{};
  future<void> tables_sent{};
  std::map<std::int64_t, any_tensor> offsets{};  ///< by the stride of a token
  std::optional<error> failed{};                 ///< an `attend` that had no room
  std::vector<bool> appended{};                  ///< by layer
  bool by_program = false;                       ///< it writes the rows itself
  std::vector<future<void>> appends{};           ///< one for each layer that has been
  std::optional<std::vector<std::int64_t>> kept{};

  [[nodiscard]] std::int64_t tokens() const {
    return sequences.back().first + sequences.back().tokens;
  }
  [[nodiscard]] std::int64_t longest() const {
    return std::ranges::max(sequences, {}, &stepping_sequence::tokens).tokens;
  }
  [[nodiscard]] std::int64_t shortest() const {
    return std::ranges::min(sequences, {}, &stepping_sequence::tokens).tokens;
  }
};

/// The pages of a cache and their owners. `mutex_` guards all mutable state; requests are sent and
/// awaited without it. A sequence in an open step is changed by that step alone.
class kv_pages : public std::enable_shared_from_this<kv_pages> {
 public:
  [[nodiscard]] static result<std::shared_ptr<kv_pages>> make(const device& on,
                                                              const kv_cache_config& config);

  [[nodiscard]] kv_sequence begin();
  [[nodiscard]] result<kv_sequence> fork(kv_sequence from, std::optional<std::int64_t> tokens);
  result<void> end(kv_sequence one);
  [[nodiscard]] result<std::unique_ptr<open_step>> step(std::span<const kv_growth> growths,
                                                        bool packed);
  /// The places where the sequences of a packed step begin in a tensor whose tokens are so many
  /// elements apart; null if there is no room for them.
  [[nodiscard]] any_tensor offsets(open_step& step, std::int64_t stride);
  /// Allocates and sends table and lengths, once; else `failed` says why there are none.
  void send_tables(open_step& step);
  [[nodiscard]] result<void> write(open_step& step, const kv_places& to);
  [[nodiscard]] future<void> append(open_step& step, std::int64_t layer, const any_tensor& k,
                                    const any_tensor& v);
  [[nodiscard]] future<void> commit(std::unique_ptr<open_step> step);
  /// Gives back the pages of the step once its requests have ended: until then one may be lost and
  /// its rows be set to zero. Does not block.
  void abandon(std::unique_ptr<open_step> step);

  [[nodiscard]] result<std::int64_t> length(kv_sequence one) const;
  [[nodiscard]] result<std::vector<std::int32_t>> pages_of(kv_sequence one) const;
  [[nodiscard]] std::int64_t free_pages() const;
  [[nodiscard]] const kv_cache_config& config() const noexcept { return config_; }
  [[nodiscard]] const any_tensor& keys(std::int64_t layer) const {
    return keys_.at(static_cast<std::size_t>(layer));
  }
  [[nodiscard]] const any_tensor& values(std::int64_t layer) const {
    return values_.at(static_cast<std::size_t>(layer));
  }

 private:
  struct sequence {
    std::vector<std::int32_t> pages{};
    std::int64_t length = 0;
    bool busy = false;  ///< in an open step, or being forked
  };

  kv_pages(const device& on, const kv_cache_config& config) : device_(on), config_(config) {}

  /// Waits for the requests of steps that were abandoned; any number of threads at once.
  void settle_abandoned();

  // With `mutex_` held, except `conclude`, which takes it.
  [[nodiscard]] result<sequence*> idle(kv_sequence one);
  [[nodiscard]] result<const sequence*> find(kv_sequence one) const;
  [[nodiscard]] std::int32_t take_page();
  void give_back(std::int32_t page);
  /// Takes the pages that the step needs. The sequences are in it, or as they were.
  [[nodiscard]] result<void> enter(open_step& step, std::span<const kv_growth> growths);
  /// The step's requests have ended so. \returns the outcome of the step
  [[nodiscard]] result<void> conclude(open_step& step, result<void> outcome);
  /// Gives back the step's pages. Its requests have ended.
  void give_back(const open_step& step);

  /// Rows [first, first + count) of a page, [count, heads, size].
  [[nodiscard]] static any_tensor rows_of(const any_tensor& layer, std::int32_t page,
                                          std::int64_t first, std::int64_t count);
  /// Those of sequences whose new tokens lie in k and v [t, heads, …] one behind the other.
  void add_appends(std::vector<kv_append>& to, std::span<const stepping_sequence> sequences,
                   std::int64_t layer, const any_tensor& k, const any_tensor& v) const;
  [[nodiscard]] future<void> send(const kv_append& one);
  /// Sets rows to zero that a lost request has left undefined: a request that reads the cache would
  /// be refused.
  void define(const std::vector<any_tensor>& rows);
  /// Those of a step whose rows the program has written.
  void define_rows_of(const open_step& step);
  void define_the_rest();

  device device_;
  const kv_cache_config config_;
  std::vector<any_tensor> keys_;  ///< by layer
  std::vector<any_tensor> values_;

  mutable std::mutex mutex_;
  std::vector<std::int32_t> free_;
  std::vector<std::int32_t> owners_;  ///< by page
  std::unordered_map<std::uint64_t, sequence> sequences_;
  std::uint64_t next_ = 0;
  std::vector<any_tensor> undefined_;  ///< tensors that could not be set to zero yet
  std::vector<std::shared_ptr<const open_step>> abandoned_;  ///< until their pages are back
};

}  // namespace troupe::dnn::detail
