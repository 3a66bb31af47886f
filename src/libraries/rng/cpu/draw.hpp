#pragma once

#include "libraries/memory/shared/strided_loops.hpp"
#include "libraries/rng/cpu/engine_cache.hpp"
#include "libraries/rng/cpu/sources.hpp"
#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/shared/normal_table.hpp"

#include <troupe/base/result.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/tensor/tensor.hpp>

#include <array>
#include <cstring>

namespace troupe::cpu {

/// The shelf of all lanes.
template <class Engine>
engine_cache<Engine>& cache_of() {
  static engine_cache<Engine> shelf;
  return shelf;
}

/// Draws an element of `to` after the other, in row-major order whatever the strides.
template <class Sampler, class Source>
void draw_elements(const any_tensor& to, const Sampler& sampler, Source& source) {
  // The loops iterate in the order of their target: here numbers, as if the elements lay packed.
  const elementwise::strided_loops loops(
      to, any_tensor::unowned(nullptr, dtype::u8, shape(to.extents())));
  if (loops.empty) return;
  std::byte* const base = to.address();
  const auto& inner = loops.innermost();
  loops.for_each_row(base, base, [&](const std::byte* from, std::byte*) {
    std::byte* row = base + (from - base);
    for (std::int64_t i = 0; i < inner.extent; ++i) {
      const auto value = sampler(source.template next<Sampler::count>());
      std::memcpy(row + i * inner.from, &value, sizeof value);
    }
  });
}

template <class Engine, class Sampler>
void draw_from_twister(const rng::position& from, const any_tensor& to, const Sampler& sampler) {
  auto& shelf = cache_of<Engine>();
  const auto offset = static_cast<std::uint64_t>(from.offset);
  engine_source<Engine> source(shelf.take(from.seed, offset));
  draw_elements(to, sampler, source);
  const auto drawn = static_cast<std::uint64_t>(rng::consumed(from, to, Sampler::count));
  shelf.put(from.seed, offset + drawn, source.engine());
}

template <class Engine, class Sampler>
void draw_from_jumper(const rng::position& from, const any_tensor& to, const Sampler& sampler) {
  Engine engine(from.seed);
  engine.discard(static_cast<std::uint64_t>(from.offset));
  engine_source<Engine> source(engine);
  draw_elements(to, sampler, source);
}

/// Fills `to` with what `sampler` makes of the words from `from` on.
template <class Sampler>
void draw(const rng::position& from, const any_tensor& to, const Sampler& sampler) {
  using rng::generator_type;
  if (to.empty()) return;
  switch (from.type) {
    case generator_type::philox4x32_10: {
      philox_source source(from);
      return draw_elements(to, sampler, source);
    }
    case generator_type::xorwow:
      return draw_from_jumper<xorwow>(from, to, sampler);
    case generator_type::mrg32k3a:
      return draw_from_jumper<mrg32k3a>(from, to, sampler);
    case generator_type::mtgp32:
      return draw_from_twister<mt11213b>(from, to, sampler);
    case generator_type::mt19937:
      return draw_from_twister<std::mt19937>(from, to, sampler);
    case generator_type::sobol32:
    case generator_type::scrambled_sobol32: {
      sobol_source<std::uint32_t> source(from, rng::dimensions_of(to));
      return draw_elements(to, sampler, source);
    }
    case generator_type::sobol64:
    case generator_type::scrambled_sobol64: {
      sobol_source<std::uint64_t> source(from, rng::dimensions_of(to));
      return draw_elements(to, sampler, source);
    }
  }
}

/// The table of all lanes.
inline const rng::normal_segment* normal_table() {
  static const auto table = [] {
    std::array<rng::normal_segment, rng::normal_segments> made;
    for (int i = 0; i < rng::normal_segments; ++i)
      made[static_cast<std::size_t>(i)] = rng::normal_segment_of(i);
    return made;
  }();
  return table.data();
}

/// The executor of a request whose sampler needs nothing but the request.
template <request R>
result<void> draw_request(const R& r, lane_context&) {
  with_sampler(r, [&]<class Sampler>(Sampler sampler) {
    if constexpr (rng::has_normal_table<Sampler>) sampler.table = normal_table();
    draw(r.from, r.to, sampler);
  });
  return {};
}

}  // namespace troupe::cpu
