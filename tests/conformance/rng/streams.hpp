#pragma once

#include "conformance/scene.hpp"

#include <troupe/rng/generator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

/// Properties of every request of random numbers, and tests of distributions.
namespace troupe::conformance {

inline constexpr rng::generator_type pseudorandom[] = {
    rng::generator_type::philox4x32_10, rng::generator_type::xorwow, rng::generator_type::mrg32k3a,
    rng::generator_type::mtgp32, rng::generator_type::mt19937};
/// For tests of what is made of words: how words are made does not depend on it.
inline constexpr rng::generator_type two_of_them[] = {rng::generator_type::philox4x32_10,
                                                      rng::generator_type::xorwow};
inline constexpr rng::generator_type quasirandom[] = {
    rng::generator_type::sobol32, rng::generator_type::scrambled_sobol32,
    rng::generator_type::sobol64, rng::generator_type::scrambled_sobol64};

/// Word `index` of a philox stream, by an implementation of its own.
[[nodiscard]] std::uint32_t reference_word(std::uint64_t seed, std::uint64_t subsequence,
                                           std::uint64_t index);

/// Runs a request of philox on the CPU backend, whatever backend is under test, and answers the
/// bytes of a packed `to` of so many elements. Other tensors of it must be host memory.
[[nodiscard]] std::vector<std::byte> cpu_bytes(const request_type& type, void* request,
                                               any_tensor& to, std::int64_t count);

/// The Kolmogorov–Smirnov statistic of values against a distribution function, times √n: above 2.2
/// in one of 8 000 cases for values of that distribution. Seeds are fixed, so it is always the
/// same.
[[nodiscard]] double ks_statistic(std::vector<double> values,
                                  const std::function<double(double)>& below);
inline constexpr double ks_limit = 2.2;

/// Expects that counts are those of probabilities, by χ²; rare outcomes are taken together.
void expect_frequencies(const std::vector<double>& counts, const std::vector<double>& probabilities,
                        const std::string& what);

[[nodiscard]] std::vector<double> real_parts(const std::vector<number>& values);

/// The values of `count` elements that `r` draws.
template <request R>
std::vector<double> values_of(R r, dtype type, std::int64_t count) {
  scene s;
  s.name(std::string(R::name) + " " + std::string(to_string(r.from.type)));
  auto& to = s.vector(type, count);
  r.to = to.view;
  s.run(r);
  return real_parts(s.elements_now(to));
}

/// `make` gives the request for a scene, whose memory its operands beside `to` may be.
template <class Make>
void expect_any_split(dtype type, rng::generator_type generator, Make make) {
  constexpr std::int64_t count = 203;
  scene s;
  s.name(std::string(to_string(type)) + " of " + std::string(to_string(generator)));
  auto request = make(s);
  request.from = {.type = generator, .seed = 0x123456789abcdef, .offset = 5};
  auto& whole = s.vector(type, count);
  request.to = whole.view;
  s.run(request);
  const std::vector<std::byte> expected = s.bytes_now(whole);
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{98}}) {
    scene parts;
    parts.name(s.note());
    auto part = make(parts);
    rng::generator stream(request.from);
    std::vector<std::byte> drawn;
    for (const std::int64_t n : {first, count - first}) {
      auto& to = parts.vector(type, n);
      part.to = to.view;
      parts.run(stream.draw(part));
      const std::vector<std::byte> bytes = parts.bytes_now(to);
      drawn.insert(drawn.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(drawn, expected) << "split at " << first << s.note();
  }
}

template <class Make>
void expect_row_major_order(dtype type, rng::generator_type generator, Make make) {
  struct layout_case {
    scene::extents size;
    scene::extents strides;
  };
  const layout_case cases[] = {{{}, {}},
                               {{0}, {1}},
                               {{1}, {7}},
                               {{24}, {3}},
                               {{6, 4}, {1, 6}},
                               {{6, 4}, {9, 2}},
                               {{2, 3, 4}, {4, 8, 1}},
                               {{2, 3, 4}, {1, 17, 4}}};
  for (const layout_case& one : cases) {
    scene s;
    s.name(std::string(to_string(type)) + " of " + std::string(to_string(generator)));
    auto request = make(s);
    request.from = {.type = generator, .seed = 3, .offset = 1};
    auto& strided = s.tensor(type, one.size, one.strides);
    request.to = strided.view;
    s.run(request);
    const std::vector<std::byte> found = s.bytes_now(strided);
    scene packed;
    auto same = make(packed);
    same.from = request.from;
    scene::extents steps(one.size.size(), 1);
    for (std::size_t d = steps.size(); d-- > 1;)
      steps[d - 1] = steps[d] * one.size[d];
    auto& to = packed.tensor(type, one.size, steps);
    same.to = to.view;
    packed.run(same);
    EXPECT_EQ(packed.bytes_now(to), found) << s.note();
  }
}

/// Only where the request has no operand beside `to`.
template <class Make>
void expect_bits_of_the_cpu(dtype type, Make make) {
  constexpr std::int64_t count = 5003;
  scene s;
  s.name(std::string(to_string(type)));
  auto request = make(s);
  request.from = {.seed = 0xfedcba987654321, .subsequence = 7, .offset = 3};
  auto& to = s.vector(type, count);
  request.to = to.view;
  s.run(request);
  const std::vector<std::byte> expected =
      cpu_bytes(request_type_of<decltype(request)>(), &request, request.to, count);
  EXPECT_EQ(s.bytes_now(to), expected) << request.name << s.note();
}

}  // namespace troupe::conformance
