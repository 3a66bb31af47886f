#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/core/future.hpp>
#include <troupe/dnn/attention.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {
class device;
}

namespace troupe::dnn {

namespace detail {
class kv_pages;
struct open_step;
}  // namespace detail

/// The dimensions of a `kv_cache`.
struct kv_cache_config {
  std::int64_t layers = 1;
  std::int64_t heads = 1;       ///< for keys and values
  std::int64_t key_size = 0;    ///< elements of a key
  std::int64_t value_size = 0;  ///< of a value; 0: as `key_size`
  std::int64_t page_size = 16;  ///< tokens of a page
  std::int64_t pages = 0;       ///< for all sequences together
  dtype type = dtype::f16;
};

/// A sequence of a `kv_cache`. Numbers are not used again.
enum class kv_sequence : std::uint64_t {};

/// The new tokens of one sequence in a step.
struct kv_growth {
  kv_sequence sequence{};
  std::int64_t tokens = 1;
};

/// Places of the new tokens of a packed step, for programs that write them by themselves: for each
/// token its row, which is page · page_size + its place in the page; for each sequence its tokens
/// with the new ones, and its pages, 0 behind the last.
struct kv_places {
  std::span<std::int32_t> rows;
  std::span<std::int32_t> lengths;
  std::span<std::int32_t> pages;  ///< as many for each sequence
};

/// One step of a model for some sequences of a `kv_cache`: new tokens in every layer, as many for
/// each sequence, or packed. `commit` makes them part of the sequences. If the step is destroyed
/// without it, sequences keep their lengths and all content, bit for bit.
///
/// A step belongs to one thread at a time. Destroying it does not wait; its memory is free once its
/// requests have ended, for which the cache's next `step`, `fork` or `end` waits.
class TROUPE_EXPORT kv_step {
 public:
  kv_step(kv_step&&) noexcept;
  kv_step& operator=(kv_step&&) noexcept;
  ~kv_step();

  /// Appends keys [b, n, heads, key_size] and values [b, n, heads, value_size] in one layer, in the
  /// order of the step's sequences; of a packed step keys [t, heads, key_size] and values
  /// [t, heads, value_size]. The future says whether they are there, and so will `commit`.
  /// \errors `invalid_argument` for a layer that is not there or has been appended; those of
  /// `kv_append`
  [[nodiscard]] future<void> append(std::int64_t layer, const any_tensor& k, const any_tensor& v);

  /// The request that lets each sequence's new tokens attend to all of it and, causally, to each
  /// other: q and o are [b, h, n, …], of a packed step [t, h, …]. Send it after the layer's
  /// `append`; every field may be changed. A packed step allocates where the sequences begin in q
  /// and o, once for tensors of the same strides: without room the request is refused, and
  /// `commit` says `out_of_memory`.
  [[nodiscard]] attention_forward attend(std::int64_t layer, const any_tensor& q,
                                         const any_tensor& o);

  /// Tells where the step's tokens go, and that the program writes them there by itself in every
  /// layer, as a request graph does: then `append` is not needed. The program sends what reads or
  /// writes the cache besides only when its requests have ended. If the step is destroyed without a
  /// commit, its rows are set to zero first.
  /// \errors `invalid_argument` if the step has an append or is not packed, or if there is no room
  /// for the places
  [[nodiscard]] result<void> write(const kv_places& to);

  /// Waits for the step's requests, and adds its tokens to their sequences if every layer has them.
  /// Otherwise the sequences stay as they were before the step, which is over.
  /// With `kept`, each sequence gets so many of its new tokens, the first ones.
  /// \errors the first of its requests'; `invalid_argument` if a layer has not been appended, or if
  /// `kept` has not a number from 0 to its tokens for each sequence
  [[nodiscard]] result<void> commit();
  [[nodiscard]] result<void> commit(std::span<const std::int64_t> kept);
  /// The same without waiting: the sequences have the tokens when the future is ready, also if it
  /// is dropped. Until then they are in an open step.
  [[nodiscard]] future<void> commit_async();
  [[nodiscard]] future<void> commit_async(std::span<const std::int64_t> kept);

 private:
  friend class kv_cache;
  kv_step(std::shared_ptr<detail::kv_pages> pages,
          std::unique_ptr<detail::open_step> step) noexcept;

  std::shared_ptr<detail::kv_pages> pages_;
  std::unique_ptr<detail::open_step> step_;  // null when over
};

/// Keys and values of growing sequences, in pages of a device's memory that sequences share where
/// they begin alike. The program owns pages, tables and lengths, so they outlive the worker.
///
/// Thread-safe; copies refer to the same cache. Steps of different sequences may be open at once; a
/// sequence of an open step can neither be forked, ended, nor be in another step. Requests are
/// ordered by the memory that they use, as all are.
class TROUPE_EXPORT kv_cache {
 public:
  /// Allocates all pages, set to zero. Local: waits for nothing.
  /// \errors `invalid_argument` for sizes that are not positive; `out_of_memory`; `device_stopped`
  [[nodiscard]] static result<kv_cache> make(const device& on, const kv_cache_config& config);

  /// A new sequence without tokens.
  [[nodiscard]] kv_sequence begin();
  /// A new sequence that begins with all tokens of another. Full pages are shared; one that is not
  /// full is copied, which this waits for.
  /// \errors `invalid_argument` for a sequence that is not there or is in an open step;
  /// `out_of_memory` without a free page; those of a copy
  [[nodiscard]] result<kv_sequence> fork(kv_sequence from);
  /// The same with the first `tokens` of them. \errors also `invalid_argument` for more than it has
  [[nodiscard]] result<kv_sequence> fork(kv_sequence from, std::int64_t tokens);
  /// Ends a sequence: pages that no other one shares are free again.
  /// \errors `invalid_argument` for a sequence that is not there or is in an open step
  result<void> end(kv_sequence one);

  /// Begins a step of `tokens` new tokens for each of these sequences, and takes the pages that it
  /// needs. \errors `invalid_argument` for no sequences or tokens, or a sequence that is not there,
  /// is in an open step, or is named twice; `out_of_memory` with the pages needed and free; those
  /// of an allocation
  [[nodiscard]] result<kv_step> step(std::span<const kv_sequence> sequences, std::int64_t tokens);
  /// A packed step: each sequence has its own number of tokens, one sequence behind the other.
  [[nodiscard]] result<kv_step> step(std::span<const kv_growth> growths);

  /// Tokens of a sequence. \errors `invalid_argument` for a sequence that is not there
  [[nodiscard]] result<std::int64_t> length(kv_sequence one) const;
  [[nodiscard]] std::int64_t free_pages() const;
  [[nodiscard]] const kv_cache_config& config() const noexcept;

  /// The pages of a layer: keys [pages, heads, page_size, key_size] and values
  /// [pages, heads, page_size, value_size]. A token's keys of all heads lie side by side.
  [[nodiscard]] any_tensor keys(std::int64_t layer) const;
  [[nodiscard]] any_tensor values(std::int64_t layer) const;
  /// The pages of a sequence, in order.
  [[nodiscard]] result<std::vector<std::int32_t>> pages_of(kv_sequence one) const;

 private:
  explicit kv_cache(std::shared_ptr<detail::kv_pages> pages) noexcept;

  std::shared_ptr<detail::kv_pages> pages_;
};

}  // namespace troupe::dnn
