#include <troupe/collective/reduction.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/parallel/gradient_buckets.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>

namespace troupe::parallel {
namespace {

// Gradients begin at lines of memory, as tensors of their own would.
constexpr std::int64_t alignment_bytes = 256;

std::int64_t padded_count(const any_tensor& t) {
  const std::int64_t unit = alignment_bytes / size_of(t.type());
  return (t.count() + unit - 1) / unit * unit;
}

}  // namespace

result<gradient_buckets> gradient_buckets::create(const world& all,
                                                  std::span<const any_tensor> parameters,
                                                  const bucket_options& options) {
  if (options.bytes < 1) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("bucket_options::bytes must be at least 1; it is {}",
                                        options.bytes)};
  }
  gradient_buckets made(all);
  made.places_.resize(parameters.size());
  struct filling {
    std::int64_t bytes = 0;
    std::vector<std::size_t> parameters;
  };
  std::map<dtype, filling> open;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const std::int64_t bytes = padded_count(parameters[i]) * size_of(parameters[i].type());
    filling& to = open[parameters[i].type()];
    if (!to.parameters.empty() && to.bytes + bytes > options.bytes) {
      auto added =
          made.add_bucket(parameters, std::exchange(to, {}).parameters, options.out_of_place);
      if (!added) return std::move(added).error();
    }
    to.bytes += bytes;
    to.parameters.push_back(i);
  }
  for (auto& [type, last] : open) {
    auto added = made.add_bucket(parameters, std::move(last.parameters), options.out_of_place);
    if (!added) return std::move(added).error();
  }
  return made;
}

result<void> gradient_buckets::add_bucket(std::span<const any_tensor> parameters,
                                          std::vector<std::size_t> of, bool out_of_place) {
  std::int64_t count = 0;
  for (const std::size_t i : of)
    count += padded_count(parameters[i]);
  const auto allocate = [&] { return world_.allocate(parameters[of.front()].type(), {count}); };
  auto gradients = allocate();
  if (!gradients) return std::move(gradients).error();
  auto averages = out_of_place ? allocate() : gradients;
  if (!averages) return std::move(averages).error();
  bucket made;
  made.left = of.size() * world_.size();
  std::int64_t begin = 0;
  for (const std::size_t i : of) {
    const any_tensor& like = parameters[i];
    const std::int64_t end = begin + like.count();
    const std::int64_t next = begin + padded_count(like);
    const auto view_in = [&](const any_tensor& whole) {
      return whole.slice(0, begin, end).value().reshape(shape(like.extents())).value();
    };
    for (std::size_t rank = 0; rank < world_.size(); ++rank) {
      places_[i].gradient.push_back(view_in((*gradients)[rank]));
      places_[i].average.push_back(view_in((*averages)[rank]));
    }
    places_[i].sent.assign(world_.size(), false);
    places_[i].bucket = buckets_.size();
    if (end < next) made.gaps.emplace_back(end, next);
    begin = next;
  }
  made.parameters = std::move(of);
  made.gradients = *std::move(gradients);
  made.averages = *std::move(averages);
  buckets_.push_back(std::move(made));
  return clear_gaps(buckets_.back());
}

// They are added up with the gradients.
result<void> gradient_buckets::clear_gaps(const bucket& in) {
  for (std::size_t rank = 0; rank < world_.size(); ++rank) {
    for (const auto& [begin, end] : in.gaps) {
      auto cleared = world_.rank(rank).tell(
          memory::fill{.to = in.gradients[rank].slice(0, begin, end).value(), .value = 0});
      if (!cleared) return cleared;
    }
  }
  return {};
}

result<void> gradient_buckets::sent(std::size_t rank, std::size_t parameter) {
  if (parameter >= places_.size() || rank >= world_.size()) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("there is no gradient {} of rank {}; there are {} of {} ranks",
                               parameter, rank, places_.size(), world_.size())};
  }
  place& at = places_[parameter];
  if (at.sent[rank]) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("gradient {} of rank {} was sent already in this step",
                                        parameter, rank)};
  }
  at.sent[rank] = true;
  bucket& full = buckets_[at.bucket];
  if (--full.left > 0) return {};
  full.left = full.parameters.size() * world_.size();
  for (const std::size_t i : full.parameters)
    places_[i].sent.assign(world_.size(), false);
  const collective::all_reduce average{
      .x = full.gradients, .y = full.averages, .op = collective::reduction::avg};
  auto told = world_.tell(average);
  if (told || told.error().code != errc::tainted_buffer) return told;
  // An earlier average failed, and no gradient of this step overwrites what lies between them.
  if (auto cleared = clear_gaps(full); !cleared) return cleared;
  return world_.tell(average);
}

}  // namespace troupe::parallel
