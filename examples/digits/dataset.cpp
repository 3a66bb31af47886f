#include "dataset.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>

namespace digits {
namespace {

struct close_file {
  void operator()(gzFile file) const { gzclose(file); }
};

troupe::error unreadable(const std::string& path, std::size_t line) {
  return {.code = troupe::errc::invalid_argument,
          .message = path + ": line " + std::to_string(line) +
                     " is not 64 pixels from 0 to 16 and a digit"};
}

/// The numbers of one line; false when it is not `row.size()` integers from 0 to 16.
bool parse(std::string_view line, std::span<int> row) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) {
      if (at == end || *at != ',') return false;
      ++at;
    }
    const auto [next, status] = std::from_chars(at, end, row[i]);
    if (status != std::errc{} || row[i] < 0 || row[i] > 16) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

void dataset::add(std::span<const float> image, int label) {
  images.insert(images.end(), image.begin(), image.end());
  labels.push_back(label);
}

troupe::result<dataset> read_dataset(const std::string& path) {
  const std::unique_ptr<gzFile_s, close_file> file(gzopen(path.c_str(), "rb"));
  if (!file) return troupe::system_failure("open", errno, path);
  dataset read;
  std::array<char, 512> text{};
  std::array<int, pixels + 1> row{};
  std::array<float, pixels> image{};
  while (gzgets(file.get(), text.data(), static_cast<int>(text.size())) != nullptr) {
    std::string_view line(text.data());
    while (line.ends_with('\n') || line.ends_with('\r'))
      line.remove_suffix(1);
    if (!parse(line, row) || row.back() > 9) return unreadable(path, read.size() + 1);
    std::transform(row.begin(), row.end() - 1, image.begin(),
                   [](int pixel) { return static_cast<float>(pixel); });
    read.add(image, row.back());
  }
  if (read.size() == 0) return unreadable(path, 1);
  return read;
}

held_out_split split(const dataset& all, std::size_t parts, std::uint32_t seed) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));

  held_out_split made{.training = std::vector<dataset>(parts),
                      .part = std::vector<std::size_t>(all.size())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t image = order[i];
    made.part[image] = i % parts;
    for (std::size_t other = 0; other < parts; ++other) {
      if (other != i % parts) made.training[other].add(all.image(image), all.labels[image]);
    }
  }
  return made;
}

}  // namespace digits
