#include "libraries/rng/cuda/curand.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/rng/shared/philox.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

// Source: curand.h.
constexpr vendor_status statuses[] = {
    {CURAND_STATUS_VERSION_MISMATCH, "CURAND_STATUS_VERSION_MISMATCH", errc::library_error},
    {CURAND_STATUS_NOT_INITIALIZED, "CURAND_STATUS_NOT_INITIALIZED", errc::library_error},
    {CURAND_STATUS_ALLOCATION_FAILED, "CURAND_STATUS_ALLOCATION_FAILED", errc::out_of_memory},
    {CURAND_STATUS_TYPE_ERROR, "CURAND_STATUS_TYPE_ERROR", errc::library_error},
    {CURAND_STATUS_OUT_OF_RANGE, "CURAND_STATUS_OUT_OF_RANGE", errc::library_error},
    {CURAND_STATUS_LENGTH_NOT_MULTIPLE, "CURAND_STATUS_LENGTH_NOT_MULTIPLE", errc::library_error},
    {CURAND_STATUS_DOUBLE_PRECISION_REQUIRED, "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED",
     errc::unsupported},
    {CURAND_STATUS_LAUNCH_FAILURE, "CURAND_STATUS_LAUNCH_FAILURE", errc::library_error},
    {CURAND_STATUS_PREEXISTING_FAILURE, "CURAND_STATUS_PREEXISTING_FAILURE", errc::library_error},
    {CURAND_STATUS_INITIALIZATION_FAILED, "CURAND_STATUS_INITIALIZATION_FAILED",
     errc::library_error},
    {CURAND_STATUS_ARCH_MISMATCH, "CURAND_STATUS_ARCH_MISMATCH", errc::unsupported},
    {CURAND_STATUS_INTERNAL_ERROR, "CURAND_STATUS_INTERNAL_ERROR", errc::library_error},
};

/// Streams are generated in pieces of this many words. Each piece is one call that starts at the
/// piece's beginning, so the words do not depend on how requests ask for them.
constexpr std::int64_t piece_words = std::int64_t{1} << 20;
constexpr std::int64_t none = -1;

struct destroy_generator {
  void operator()(curandGenerator_t held) const noexcept { (void)curandDestroyGenerator(held); }
};
struct free_words {
  void operator()(std::uint32_t* held) const noexcept { (void)cudaFree(held); }
};

struct stream {
  rng::generator_type type{};
  std::uint64_t seed = 0;
  std::unique_ptr<std::uint32_t, free_words> words;
  std::unique_ptr<curandGenerator_st, destroy_generator> generator;
  std::int64_t held = none;  // the piece that `words` holds
  std::int64_t next = 0;     // the piece that the generator makes next
};

/// The streams of a lane. They end with the lane, after its stream has drained.
struct kept_streams {
  std::vector<std::shared_ptr<stream>> streams;  // the most recently used is the last
};
constexpr std::size_t most_streams = 4;
constexpr char streams_key = 0;

curandRngType_t vendor_type(rng::generator_type type) noexcept {
  switch (type) {
    case rng::generator_type::mrg32k3a:
      return CURAND_RNG_PSEUDO_MRG32K3A;
    case rng::generator_type::mtgp32:
      return CURAND_RNG_PSEUDO_MTGP32;
    case rng::generator_type::mt19937:
      return CURAND_RNG_PSEUDO_MT19937;
    default:
      return CURAND_RNG_PSEUDO_XORWOW;
  }
}

/// cuRAND silently uses only 32 bits of a seed for mt19937. The upper ones are mixed in, so that
/// seeds that differ only there give different streams.
std::uint64_t vendor_seed(rng::generator_type type, std::uint64_t seed) noexcept {
  if (type != rng::generator_type::mt19937 || seed >> 32 == 0) return seed;
  const rng::words<4> mixed = rng::philox({}, seed >> 32);
  return static_cast<std::uint32_t>(seed) ^ mixed.word[0];
}

bool can_jump(rng::generator_type type) noexcept {
  return type == rng::generator_type::xorwow || type == rng::generator_type::mrg32k3a;
}

/// Gives the stream a new generator at its beginning. On an error the stream is unchanged.
result<void> begin(stream& made, const lane& where) {
  curandGenerator_t generator = nullptr;
  TRY(check(curandCreateGenerator(&generator, vendor_type(made.type)), "curandCreateGenerator",
            where));
  std::unique_ptr<curandGenerator_st, destroy_generator> fresh(generator);
  TRY(check(curandSetStream(generator, where.stream()), "curandSetStream", where));
  // The legacy order never changes between releases, so streams survive an update of cuRAND.
  TRY(check(curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_LEGACY),
            "curandSetGeneratorOrdering", where));
  TRY(check(curandSetPseudoRandomGeneratorSeed(generator, vendor_seed(made.type, made.seed)),
            "curandSetPseudoRandomGeneratorSeed", where));
  made.generator = std::move(fresh);
  made.next = 0;
  made.held = none;
  return {};
}

result<std::shared_ptr<stream>> stream_of(const rng::position& from, lane& where) {
  std::shared_ptr<void>& place = where.attachment(&streams_key);
  if (!place) place = std::make_shared<kept_streams>();
  auto& streams = static_cast<kept_streams*>(place.get())->streams;
  const auto found = std::ranges::find_if(
      streams, [&](const auto& one) { return one->type == from.type && one->seed == from.seed; });
  if (found != streams.end()) {
    std::rotate(found, found + 1, streams.end());
    return streams.back();
  }
  auto made = std::make_shared<stream>();
  made->type = from.type;
  made->seed = from.seed;
  void* memory = nullptr;
  TRY(check(cudaMalloc(&memory, piece_words * sizeof(std::uint32_t)), "cudaMalloc"));
  made->words.reset(static_cast<std::uint32_t*>(memory));
  TRY(begin(*made, where));
  if (streams.size() == most_streams) streams.erase(streams.begin());
  streams.push_back(made);
  return made;
}

result<void> enqueue_next_piece(stream& of, const lane& where) {
  of.held = none;
  auto done = check(curandGenerate(of.generator.get(), of.words.get(), piece_words),
                    "curandGenerate", where);
  if (done) of.held = of.next++;
  return done;
}

/// Generates the words of a piece, unless they are held already.
result<void> hold_piece(stream& of, std::int64_t piece, const lane& where) {
  if (of.held == piece) return {};
  if (of.next != piece && can_jump(of.type)) {
    TRY(check(curandSetGeneratorOffset(of.generator.get(),
                                       static_cast<unsigned long long>(piece) * piece_words),
              "curandSetGeneratorOffset", where));
    of.next = piece;
  } else if (of.next > piece)
    TRY(begin(of, where));
  while (of.next <= piece) {
    TRY(enqueue_next_piece(of, where));
  }
  return {};
}

}  // namespace

result<void> check(curandStatus_t status, std::string_view call, const lane& where) {
  if (status == CURAND_STATUS_SUCCESS) return {};
  return failure_of(statuses, status, "curand", call, where.stream());
}

result<void> enqueue_words(const rng::position& from, std::uint64_t first, std::int64_t count,
                           std::uint32_t* to, lane& where) {
  const auto found = TRY(stream_of(from, where));
  stream& of = *found;
  auto at = static_cast<std::int64_t>(first);
  while (count > 0) {
    TRY(hold_piece(of, at / piece_words, where));
    const std::int64_t within = at % piece_words;
    const std::int64_t copied = std::min(count, piece_words - within);
    TRY(check(cudaMemcpyAsync(to, of.words.get() + within,
                              static_cast<std::size_t>(copied) * sizeof(std::uint32_t),
                              cudaMemcpyDeviceToDevice, where.stream()),
              "cudaMemcpyAsync"));
    to += copied;
    at += copied;
    count -= copied;
  }
  return {};
}

}  // namespace troupe::cuda
