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

/// A plan with callbacks, made in the background: the thread that has made it publishes `ready`
/// (release); the lane that it is for looks at it before each request (acquire).
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

  /// Waits for the end of the making.
  void wait() const { now.wait(state::making, std::memory_order_acquire); }

  long* const place;  ///< what the callbacks find

 private:
  std::shared_ptr<caller_info> places_;
};

/// How a request of certain types, layouts and programs is run with callbacks.
class callback_run {
 public:
  /// Has another thread write, compile and link the callbacks, and does not wait. `store` is what a
  /// request's store is with the factor of its scale in it.
  /// \errors `unsupported` where only passes can do it; `out_of_memory` where all places are taken
  [[nodiscard]] static result<callback_run> order(const fft::transform& t,
                                                  const fft::request_fields& r,
                                                  const elementwise::function& store,
                                                  const std::shared_ptr<caller_info>& places);

  [[nodiscard]] const callback_plan& plan() const noexcept { return *plan_; }
  /// The plan, for whoever lets it go; nothing else may be called afterwards.
  [[nodiscard]] std::shared_ptr<callback_plan> release() noexcept { return std::move(plan_); }
  /// Enqueues a request. Precondition: the plan is ready.
  [[nodiscard]] result<void> run(const fft::transform& t, const fft::request_fields& r,
                                 const elementwise::function& store, lane& where);

 private:
  /// What a callback reads of its request.
  struct side {
    bool given = false;
    std::size_t first = 0;     ///< of its words in the place
    std::size_t operands = 0;  ///< addresses, the constants follow
    std::vector<std::pair<std::uint16_t, elementwise::number>> constants;
  };

  void add_side(side& to, const callback_program& program);
  void set_words(const side& of, const elementwise::map& what, bool loads);

  callback_layout layout_;
  side load_;
  side store_;
  std::vector<long> words_;    // of the request at hand
  std::vector<long> written_;  // what the place holds, in the order of the stream
  bool on_stream_ = false;
  std::shared_ptr<callback_plan> plan_;
};

}  // namespace troupe::cuda
