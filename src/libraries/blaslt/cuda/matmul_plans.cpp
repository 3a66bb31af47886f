#include "backend/cuda/context/failure.hpp"
#include "backend/lru_cache.hpp"
#include "base/try.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"
#include "libraries/blaslt/cuda/tuned_choices.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr std::size_t most_plans = 256;
constexpr char attachment_key = 0;

/// The library, driver and device for which a measured choice holds.
result<std::string> identity_of_library() {
  int device = 0;
  int driver = 0;
  cudaDeviceProp properties{};
  TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
  TRY(check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  TRY(check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  return fmt::format("cublasLt {}, driver {}, {} with {} multiprocessors, sm_{}{}",
                     cublasLtGetVersion(), driver, properties.name, properties.multiProcessorCount,
                     properties.major, properties.minor);
}

/// Choices are kept in the memory of the lane alone if there is no folder for them.
tuned_choices open_choices() {
  const std::string folder = tuned_choices::default_folder();
  if (folder.empty()) return {};
  auto identity = identity_of_library();
  if (!identity) return {};
  auto opened = tuned_choices::open(folder, *identity);
  return opened ? *std::move(opened) : tuned_choices();
}

/// The plans of a lane.
class matmul_plans {
 public:
  explicit matmul_plans(lt_handle library) noexcept : library_(std::move(library)) {}

  [[nodiscard]] result<planned> find(lane& where, const sides& s) {
    const matmul_key key = key_of(s);
    if (lt_plan* const kept = plans_.find(key)) return planned{kept, library_.get()};
    lt_plan made = TRY(make_plan(library_.get(), s, where.stream()));
    if (s.request.tuning == blaslt::tuning::timed) TRY(tune(made, key, where, s));
    return planned{&plans_.add(key, std::move(made)), library_.get()};
  }

  [[nodiscard]] plan_counts counts() const noexcept {
    return {plans_.hits(), plans_.misses(), measured_, restored_};
  }

 private:
  [[nodiscard]] result<void> tune(lt_plan& plan, const matmul_key& key, lane& where,
                                  const sides& s) {
    if (!choices_) choices_ = open_choices();
    if (const auto* const kept = choices_->find(key);
        kept != nullptr && plan.choose(library_.get(), *kept)) {
      ++restored_;
      return {};
    }
    if (auto done = measure(plan, library_.get(), s, where); !done) {
      // The first candidate needs less memory than the measurement.
      if (done.error().code == errc::out_of_memory) return {};
      return done;
    }
    ++measured_;
    choices_->keep(key, plan.kept());
    return {};
  }

  lt_handle library_;
  lru_cache<matmul_key, lt_plan, matmul_key::hash> plans_{most_plans};
  std::optional<tuned_choices> choices_;  // opened when a request first asks for one
  std::uint64_t measured_ = 0;
  std::uint64_t restored_ = 0;
};

result<matmul_plans*> plans_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    cublasLtHandle_t library = nullptr;
    auto created = check(cublasLtCreate(&library), "cublasLtCreate", where.stream());
    if (!created) {
      // cuBLASLt says "not initialized" if it did not get memory.
      if (created.error().vendor_code == CUBLAS_STATUS_NOT_INITIALIZED &&
          created.error().code == errc::library_error) {
        created.error().code = errc::out_of_memory;
      }
      return std::move(created).error();
    }
    place = std::make_shared<matmul_plans>(lt_handle(library));
  }
  return static_cast<matmul_plans*>(place.get());
}

}  // namespace

result<planned> plan_for(lane& where, const sides& s) {
  return TRY(plans_of(where))->find(where, s);
}

plan_counts counts_of(lane& where) {
  auto plans = plans_of(where);
  return plans ? (*plans)->counts() : plan_counts{};
}

}  // namespace troupe::cuda
