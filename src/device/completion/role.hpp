#pragma once

#include <optional>
#include <utility>

namespace troupe {

class reactor;

/// The proof that the calling thread completes the requests of a device, which one thread at a time
/// does; see `reactor`. Functions that need the role take it as a parameter.
class role {
 public:
  /// Takes the role from its holder, which gives it up at its next step. Shares the role that this
  /// thread has already, if so.
  explicit role(reactor& of) noexcept;
  /// Nothing if a thread has it, even this one.
  [[nodiscard]] static std::optional<role> try_take(reactor& of) noexcept;
  role(role&& other) noexcept : gives_up_(std::exchange(other.gives_up_, nullptr)) {}
  role& operator=(role&&) = delete;
  /// Gives the role up, unless it is shared. Then runs the continuations of the answers, unless the
  /// thread defers them for another reason.
  ~role() {
    if (gives_up_ != nullptr) give_up();
  }

 private:
  friend class reactor;
  enum class taken { already };
  role(reactor& of, taken) noexcept : gives_up_(&of) {}
  void give_up() noexcept;

  reactor* gives_up_ = nullptr;  // null if it is shared
};

}  // namespace troupe
