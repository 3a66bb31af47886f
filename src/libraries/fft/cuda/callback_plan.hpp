#pragma once

#include "libraries/elementwise/cuda/compiled/callback_source.hpp"
#include "libraries/fft/cuda/callback_layout.hpp"
#include "libraries/fft/cuda/caller_info.hpp"
#include "libraries/fft/cuda/cufft.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// A plan with callbacks, made in the background. The thread that makes it publishes `ready`
/// (release). Its lane checks `now` before each request (acquire).
struct callback_plan {
  enum class state : std::uint8_t { making, ready, failed };
  std::atomic<state> now{state::making};
  std::optional<cufft_plan> plan;  ///< complete once `ready`
  std::string failure;             ///< complete once `failed`

  callback_plan(std::shared_ptr<caller_info> places, long* at)
      : place(at), places_(std::move(places)) {}
  ~callback_plan() { places_->give_back(place); }
  callback_plan(const callback_plan&) = delete;
  callback_plan& operator=(const callback_plan&) = delete;

  /// Waits until the plan is ready or has failed.
  void wait() const { now.wait(state::making, std::memory_order_acquire); }

  long* const place;  ///< the words that the callbacks read

 private:
  std::shared_ptr<caller_info> places_;
};

/// Runs requests of certain types, layouts and programs with callbacks.
class callback_run {
 public:
  /// Lets another thread write, compile and link the callbacks, without waiting. `store` is the
  /// request's store, including the factor of its scale. \errors `unsupported` if only passes can
  /// do it; `out_of_memory` if all places are taken
  [[nodiscard]] static result<callback_run> order(const fft::transform& t,
                                                  const fft::request_fields& r,
                                                  const elementwise::function& store,
                                                  const std::shared_ptr<caller_info>& places);

  [[nodiscard]] const callback_plan& plan() const noexcept { return *plan_; }
  /// Moves the plan out, for its destruction elsewhere. No other function may be called afterwards.
  [[nodiscard]] std::shared_ptr<callback_plan> release() noexcept { return std::move(plan_); }
  /// Enqueues a request. Precondition: the plan is ready.
  [[nodiscard]] result<void> run(const fft::transform& t, const fft::request_fields& r,
                                 const elementwise::function& store, lane& where);

 private:
  /// The words that a callback reads of its request.
  struct side {
    bool given = false;
    std::size_t first = 0;     ///< the first of its words in the place
    std::size_t operands = 0;  ///< addresses, followed by the constants
    std::vector<std::pair<std::uint16_t, elementwise::number>> constants;
  };

  void add_side(side& to, const callback_program& program);
  void set_words(const side& of, const elementwise::map& what, bool loads);

  callback_layout layout_;
  side load_;
  side store_;
  std::vector<long> words_;    // the current request's
  std::vector<long> written_;  // the content of the place, in stream order
  bool on_stream_ = false;
  std::shared_ptr<callback_plan> plan_;
};

}  // namespace troupe::cuda
