#include "libraries/fft/cuda/callbacks.hpp"

#include "backend/cuda/context/turn_timer.hpp"
#include "backend/lru_cache.hpp"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/compiled/compilation.hpp"
#include "libraries/elementwise/cuda/key_words.hpp"
#include "libraries/fft/cuda/callback_plan.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

void add_with_operands(key_words& key, const elementwise::function& f,
                       const std::vector<any_tensor>& operands) {
  add_to_key(key, f);
  for (const any_tensor& t : operands)
    add_to_key(key, t);
}

/// Builds the key of everything that selects the plan and the callbacks of a request.
void make_key(key_words& key, const fft::transform& t, const fft::request_fields& r,
              const elementwise::function& store) {
  key.clear();
  key.push_back(static_cast<std::int64_t>(t.kind) | static_cast<std::int64_t>(t.precision) << 8 |
                static_cast<std::int64_t>(t.direction) << 16 | std::int64_t{t.rank} << 24 |
                std::int64_t{fft::in_place(r.in, r.out)} << 32);
  add_to_key(key, r.in);
  add_to_key(key, r.out);
  add_with_operands(key, r.load, r.load_operands);
  add_with_operands(key, store, r.store_operands);
}

/// Keys of requests that are faster in passes, for lanes that have not measured it yet.
class faster_in_passes {
 public:
  [[nodiscard]] static bool holds(const key_words& key) {
    faster_in_passes& all = instance();
    const std::lock_guard lock(all.mutex_);
    return all.keys_.contains(key);
  }
  static void add(const key_words& key) {
    constexpr std::size_t most = 4096;
    faster_in_passes& all = instance();
    const std::lock_guard lock(all.mutex_);
    if (all.keys_.size() == most) all.keys_.clear();
    all.keys_.insert(key);
  }

 private:
  static faster_in_passes& instance() {
    static faster_in_passes one;
    return one;
  }

  std::mutex mutex_;
  std::unordered_set<key_words, key_hash> keys_;
};

/// Requests with equal keys, on one lane.
struct known_request {
  bool seen = false;    ///< at least once before
  bool passes = false;  ///< final: run in passes
  std::string why;      ///< the reason for `passes`
  std::optional<callback_run> callbacks;
  turn_timer turns;  ///< which way is faster
};

struct lane_state {
  // Limited by the number of places for the callbacks' words.
  lru_cache<key_words, known_request, key_hash> known{caller_info::most_places / 2};
  std::shared_ptr<caller_info> places;
  key_words key;  // the current request's
};
constexpr char callbacks_key = 0;

void order(known_request& known, lane_state& state, const fft::transform& t,
           const fft::request_fields& r, const elementwise::function& store) {
  const auto made = [&]() -> result<callback_run> {
    if (!state.places) state.places = TRY(caller_info::make());
    return callback_run::order(t, r, store, state.places);
  };
  if (auto run = made()) {
    known.callbacks.emplace(*std::move(run));
  } else {
    known.passes = true;
    known.why = run.error().message;
  }
}

}  // namespace

result<void> run_with_functions(const fft::transform& t, const fft::request_fields& r, lane& where,
                                transform_executor in_passes) {
  const elementwise_method method = where.methods().elementwise;
  const bool must_call = method == elementwise_method::callbacks;
  if (method != elementwise_method::automatic && !must_call) return in_passes(t, r, where);
  // With callbacks, scaling is a part of store. If store has no room for it, callbacks are not
  // used.
  std::optional<elementwise::function> scaled;
  if (r.stores() && t.factor != 1) {
    scaled = fft::scaled_store(r, t.factor, t.out_is_complex());
    if (!scaled) return in_passes(t, r, where);
  }
  const elementwise::function& store = scaled ? *scaled : r.store;

  std::shared_ptr<void>& attached = where.attachment(&callbacks_key);
  if (!attached) attached = std::make_shared<lane_state>();
  auto& state = *static_cast<lane_state*>(attached.get());
  make_key(state.key, t, r, store);
  known_request* found = state.known.find(state.key);
  if (found == nullptr) {
    found = &state.known.add(state.key, {});
    found->passes = !must_call && faster_in_passes::holds(state.key);
  }
  known_request& known = *found;
  // A request that runs once is not worth a plan, which keeps a processor busy for up to a second.
  if (!known.callbacks && !known.passes && (known.seen || must_call))
    order(known, state, t, r, store);
  known.seen = true;

  if (must_call) {
    if (known.passes) {
      return error{.code = errc::unsupported, .message = "no callbacks: " + known.why};
    }
    known.callbacks->plan().wait();
  }
  if (known.passes || !known.callbacks) return in_passes(t, r, where);
  using enum callback_plan::state;
  const callback_plan::state now = known.callbacks->plan().now.load(std::memory_order_acquire);
  if (now == making) return in_passes(t, r, where);
  if (now == failed) {
    known.passes = true;
    known.why = known.callbacks->plan().failure;
    known.callbacks.reset();
    if (must_call) {
      return error{.code = errc::library_error, .message = "no callbacks: " + known.why};
    }
    return in_passes(t, r, where);
  }
  if (must_call) return known.callbacks->run(t, r, store, where);

  const auto run = [&](turn_timer::way one) {
    return one == turn_timer::way::first ? in_passes(t, r, where)
                                         : known.callbacks->run(t, r, store, where);
  };
  auto outcome = known.turns.run(where.stream(), run);
  if (known.turns.decided() == turn_timer::way::first) {
    faster_in_passes::add(state.key);
    known.passes = true;
    known.why = "passes are faster";
    // Freeing a plan may wait for the device, which a lane must not do.
    run_in_background([dropped = known.callbacks->release()]() mutable { dropped.reset(); });
    known.callbacks.reset();
  }
  return outcome;
}

}  // namespace troupe::cuda
