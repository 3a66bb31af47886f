#include "libraries/rng/cuda/sobol_tables.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/rng/shared/sobol.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace troupe::cuda {
namespace {

struct free_rows {
  void operator()(void* held) const noexcept { (void)cudaFree(held); }
};
struct free_host_memory {
  void operator()(void* held) const noexcept { (void)cudaFreeHost(held); }
};

struct table {
  rng::generator_type type{};
  std::uint64_t seed = 0;
  std::int64_t dimensions = 0;
  std::unique_ptr<void, free_host_memory> source;  // pinned, so the copy is asynchronous
  std::unique_ptr<void, free_rows> rows;
};

/// The tables of a lane. They end with the lane, after its stream has drained.
struct kept_tables {
  std::vector<table> tables;  // the most recently used is the last
};
constexpr std::size_t most_tables = 8;
constexpr char tables_key = 0;

bool is_scrambled(rng::generator_type type) noexcept {
  return type == rng::generator_type::scrambled_sobol32 ||
         type == rng::generator_type::scrambled_sobol64;
}

template <class Integer>
result<table> make_table(const rng::position& from, std::int64_t dimensions, const lane& where) {
  const bool scrambled = is_scrambled(from.type);
  const std::vector<Integer> rows = rng::sobol_rows<Integer>(dimensions, scrambled, from.seed);
  const std::size_t bytes = rows.size() * sizeof(Integer);
  table made{.type = from.type,
             .seed = from.seed,
             .dimensions = dimensions,
             .source = nullptr,
             .rows = nullptr};
  void* memory = nullptr;
  TRY(check(cudaMallocHost(&memory, bytes), "cudaMallocHost"));
  made.source.reset(memory);
  std::memcpy(memory, rows.data(), bytes);
  TRY(check(cudaMalloc(&memory, bytes), "cudaMalloc"));
  made.rows.reset(memory);
  TRY(check(cudaMemcpyAsync(made.rows.get(), made.source.get(), bytes, cudaMemcpyHostToDevice,
                            where.stream()),
            "cudaMemcpyAsync"));
  return made;
}

}  // namespace

template <class Integer>
result<const Integer*> sobol_rows_on(const rng::position& from, std::int64_t dimensions,
                                     lane& where) {
  std::shared_ptr<void>& place = where.attachment(&tables_key);
  if (!place) place = std::make_shared<kept_tables>();
  auto& tables = static_cast<kept_tables*>(place.get())->tables;
  const auto found = std::ranges::find_if(tables, [&](const table& one) {
    return one.type == from.type && one.dimensions >= dimensions &&
           (one.seed == from.seed || !is_scrambled(from.type));
  });
  if (found != tables.end()) {
    std::rotate(found, found + 1, tables.end());
  } else {
    auto made = TRY(make_table<Integer>(from, dimensions, where));
    // Freeing waits for the device, so all kernels that read the table have ended.
    if (tables.size() == most_tables) tables.erase(tables.begin());
    tables.push_back(std::move(made));
  }
  return static_cast<const Integer*>(tables.back().rows.get());
}

template result<const std::uint32_t*> sobol_rows_on(const rng::position&, std::int64_t, lane&);
template result<const std::uint64_t*> sobol_rows_on(const rng::position&, std::int64_t, lane&);

}  // namespace troupe::cuda
