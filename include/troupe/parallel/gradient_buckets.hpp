#pragma once

#include <troupe/device/world.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::parallel {

struct bucket_options {
  std::int64_t bytes =
      std::int64_t{25}
      << 20;  ///< most bytes of a bucket; a larger gradient has a bucket of its own
  /// Averages have memory of their own. Costs as much memory again; large operations are faster.
  bool out_of_place = false;
};

/// Gradients of one set of parameters on each device of a world, packed into buckets. A bucket is
/// averaged over all ranks by one `collective.all_reduce`, which is sent as soon as the last of its
/// gradients has been *sent*. It is ordered behind the requests that write them, and runs beside
/// those of earlier layers that follow: communication overlaps with the backward pass.
///
/// Buckets are filled from the last parameter to the first, the order of a backward pass. A step:
///
///     for (i = last; …; --i)
///       for (r = 0; …; ++r) {
///         gpu[r].tell(…, writes buckets.gradient(r, i));
///         buckets.sent(r, i).value();
///       }
///     gpu[r].tell(…, reads buckets.average(r, i));
///
/// A rank that is lost changes nothing: its part runs again, with the same bits. If an average
/// fails, what reads it fails (`errc::tainted_buffer`), and the next step begins anew. For one
/// thread at a time.
class TROUPE_EXPORT gradient_buckets {
 public:
  /// For gradients with the types and extents of these parameters, of any rank.
  /// \errors `out_of_memory`; `invalid_argument` for bytes below 1
  [[nodiscard]] static result<gradient_buckets> create(const world& all,
                                                       std::span<const any_tensor> parameters,
                                                       const bucket_options& options = {});

  /// The place for the gradient of a parameter on a rank. Packed. Precondition, as for
  /// `average`: there are such a rank and parameter.
  [[nodiscard]] const any_tensor& gradient(std::size_t rank, std::size_t parameter) const {
    return places_[parameter].gradient[rank];
  }
  /// The place of its average, which may be read once all ranks have sent theirs; the same view
  /// unless `out_of_place`.
  [[nodiscard]] const any_tensor& average(std::size_t rank, std::size_t parameter) const {
    return places_[parameter].average[rank];
  }
  /// Says that the last request of this step that writes the gradient has been sent.
  /// \errors `invalid_argument` if it was said already in this step, or there is no such gradient;
  /// those of `world::tell` if it was the last of a bucket
  result<void> sent(std::size_t rank, std::size_t parameter);

  [[nodiscard]] std::size_t parameter_count() const noexcept { return places_.size(); }
  [[nodiscard]] std::size_t bucket_count() const noexcept { return buckets_.size(); }

 private:
  struct place {
    std::size_t bucket = 0;
    std::vector<any_tensor> gradient;  // by rank
    std::vector<any_tensor> average;   // likewise
    std::vector<bool> sent;            // likewise, in this step
  };
  struct bucket {
    std::vector<std::size_t> parameters;
    std::vector<any_tensor> gradients;                        // by rank
    std::vector<any_tensor> averages;                         // likewise
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;  // elements behind gradients
    std::size_t left = 0;  // gradients of all ranks that have not been sent
  };

  explicit gradient_buckets(world all) noexcept : world_(std::move(all)) {}
  [[nodiscard]] result<void> add_bucket(std::span<const any_tensor> parameters,
                                        std::vector<std::size_t> of, bool out_of_place);
  [[nodiscard]] result<void> clear_gaps(const bucket& in);

  world world_;
  std::vector<place> places_;  // by parameter
  std::vector<bucket> buckets_;
};

}  // namespace troupe::parallel
