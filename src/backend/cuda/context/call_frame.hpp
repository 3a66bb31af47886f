#pragma once

#include "backend/cuda/context/lane.hpp"
#include "base/try.hpp"

#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe::cuda {

class call_frame;

/// An array in the workspace of a frame, aligned to 256 bytes, of undefined content. It has an
/// address once the frame has begun.
template <class T>
class frame_array {
 public:
  frame_array() = default;

  [[nodiscard]] T* get() const noexcept;
  operator T*() const noexcept { return get(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  friend call_frame;
  frame_array(const call_frame& frame, std::size_t offset) noexcept
      : frame_(&frame), offset_(offset) {}

  const call_frame* frame_ = nullptr;
  std::size_t offset_ = 0;
};

/// Arrays lie one behind the other in the order in which they were asked for: the bytes from the
/// beginning of one to the beginning of another.
template <class T, class U>
[[nodiscard]] std::size_t bytes_between(const frame_array<T>& from,
                                        const frame_array<U>& to) noexcept {
  return to.offset() - from.offset();
}

/// Bytes that a routine of a vendor's library works in.
struct routine_bytes {
  std::size_t device = 0;
  std::size_t host = 0;
};

/// One call of an executor: its operands, its memory, and the work before and after its own.
/// \code
///   call_frame c(where);
///   packed_operand x(c, r.x, use::reads, is_packed(r.x), copy);  // the operands
///   packed_operand y(c, r.y, use::writes, is_packed(r.y), copy);
///   const auto sums = c.array<float>(rows);                      // the memory
///   c.share(TRY(buffer_bytes(…)));
///   TRY(c.begin());
///   TRY(multiply(*x, sums, *y, c.shared()));                     // the work
///   return c.end();
/// \endcode
/// `begin` asks the lane for its workspace, once for all, and enqueues the first half of each step,
/// in the order of their declarations: copies of what is read, checks. `end` enqueues the second
/// half, in the same order: copies of what was written, reports of what the checks found. Nothing
/// is enqueued before `begin`, so a call that cannot go on returns its error from there or before.
///
/// Lives on the stack of the executor; it allocates nothing.
class call_frame {
 public:
  /// A part of a call with work before or after the executor's. It is declared after its frame, in
  /// the same function, and not const, because `begin` may change it.
  class step {
   public:
    step(const step&) = delete;
    step& operator=(const step&) = delete;

   protected:
    explicit step(call_frame& frame) noexcept {
      *frame.last_ = this;
      frame.last_ = &next_;
    }
    virtual ~step() = default;

   private:
    friend call_frame;
    [[nodiscard]] virtual result<void> before(lane&) { return {}; }
    [[nodiscard]] virtual result<void> after(lane&) { return {}; }

    step* next_ = nullptr;
  };

  explicit call_frame(lane& where) noexcept : where_(where) {}
  call_frame(const call_frame&) = delete;
  call_frame& operator=(const call_frame&) = delete;

  /// Room for `count` elements. Before `begin`.
  template <class T>
  [[nodiscard]] frame_array<T> array(std::integral auto count) noexcept {
    const std::size_t offset = bytes_;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return {*this, offset};
  }
  [[nodiscard]] frame_array<std::byte> bytes(std::integral auto count) noexcept {
    return array<std::byte>(count);
  }
  /// Room for a routine. Those of a call run one after the other and share it: it has as many bytes
  /// as the largest needs. Before `begin`.
  void share(const routine_bytes& needs) noexcept {
    shared_bytes_.device = std::max(shared_bytes_.device, needs.device);
    shared_bytes_.host = std::max(shared_bytes_.host, needs.host);
  }
  void share(std::size_t bytes) noexcept { share(routine_bytes{.device = bytes}); }

  /// \errors `out_of_memory`, and those of the steps
  [[nodiscard]] result<void> begin() {
    const std::size_t shared_at = bytes(shared_bytes_.device).offset();
    base_ = TRY(where_.workspace(bytes_)).data();
    shared_ = base_ + shared_at;
    if (shared_bytes_.host > 0)
      shared_host_ = TRY(where_.host_workspace(shared_bytes_.host)).data();
    for (step* one = first_; one != nullptr; one = one->next_)
      TRY(one->before(where_));
    return {};
  }
  [[nodiscard]] result<void> end() {
    for (step* one = first_; one != nullptr; one = one->next_)
      TRY(one->after(where_));
    return {};
  }

  /// The room that routines share. After `begin`.
  [[nodiscard]] std::byte* shared() const noexcept { return shared_; }
  [[nodiscard]] std::byte* shared_host() const noexcept { return shared_host_; }
  [[nodiscard]] const routine_bytes& shared_bytes() const noexcept { return shared_bytes_; }
  /// Its elements on the device, for routines that count them in 32 bits and need no more.
  template <class T>
  [[nodiscard]] int shared_elements() const noexcept {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(shared_bytes_.device / sizeof(T), most));
  }

 private:
  template <class T>
  friend class frame_array;

  lane& where_;
  std::size_t bytes_ = 0;
  routine_bytes shared_bytes_;
  std::byte* base_ = nullptr;
  std::byte* shared_ = nullptr;
  std::byte* shared_host_ = nullptr;
  step* first_ = nullptr;
  step** last_ = &first_;
};

template <class T>
T* frame_array<T>::get() const noexcept {
  return reinterpret_cast<T*>(frame_->base_ + offset_);
}

/// How a call uses an operand.
enum class use : std::uint8_t { reads, writes, updates };

/// An operand as a routine finds it: the tensor itself, or a packed copy in the workspace.
class packed_operand final : call_frame::step {
 public:
  /// Copies elements between views of the same type and extents.
  using copier = result<void> (*)(const any_tensor& from, const any_tensor& to, lane& where);

  packed_operand(call_frame& c, const any_tensor& t, use how, bool stays, copier copy) noexcept
      : step(c), home_(t), found_(t), how_(how), stays_(stays), copy_(copy) {
    if (!stays_) copied_ = c.bytes(t.count() * size_of(t.type()));
  }
  /// After `begin`.
  [[nodiscard]] const any_tensor& operator*() const noexcept { return found_; }
  [[nodiscard]] const any_tensor* operator->() const noexcept { return &found_; }

 private:
  result<void> before(lane& where) override {
    if (stays_) return {};
    found_ = any_tensor::unowned(copied_, home_.type(), shape(home_.extents()));
    return how_ == use::writes ? result<void>() : copy_(home_, found_, where);
  }
  result<void> after(lane& where) override {
    return stays_ || how_ == use::reads ? result<void>() : copy_(found_, home_, where);
  }

  const any_tensor& home_;
  any_tensor found_;
  frame_array<std::byte> copied_;
  use how_;
  bool stays_;
  copier copy_;
};

}  // namespace troupe::cuda
