#include "libraries/dnn/shared/graph/known_graphs.hpp"

#include "backend/lru_cache.hpp"

#include <bit>
#include <mutex>

namespace troupe::dnn {
namespace {

struct words_hash {
  std::size_t operator()(const graph_words& words) const noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio: it spreads low bits
    std::uint64_t mixed = words.size();
    for (const std::int64_t word : words)
      mixed = std::rotl(mixed * odd, 29) ^ static_cast<std::uint64_t>(word);
    return mixed * odd;
  }
};

struct known_graphs {
  static constexpr std::size_t most = 256;
  std::mutex mutex;  // guards the following
  lru_cache<graph_words, std::shared_ptr<const lowered_graph>, words_hash> all{most};
};

}  // namespace

graph_words words_of(const graph& r) {
  graph_words words(r.what.words().begin(), r.what.words().end());
  for (const scalar& one : r.what.constants()) {
    words.push_back(static_cast<std::int64_t>(one.what()));
    words.push_back(one.what() == scalar::kind::real ? std::bit_cast<std::int64_t>(one.as<double>())
                                                     : one.as<std::int64_t>());
  }
  words.push_back(static_cast<std::int64_t>(r.intermediate) | static_cast<std::int64_t>(r.math)
                                                                  << 8);
  for (const auto* const list : {&r.inputs, &r.outputs}) {
    for (const any_tensor& t : *list) {
      words.push_back(static_cast<std::int64_t>(t.type()) | std::int64_t{t.rank()} << 8 |
                      static_cast<std::int64_t>(t.space()) << 16);
      words.insert(words.end(), t.extents().begin(), t.extents().end());
      words.insert(words.end(), t.strides().begin(), t.strides().end());
    }
  }
  return words;
}

result<std::shared_ptr<const lowered_graph>> lowered(const graph& r, products by) {
  static known_graphs known;
  const graph_words words = words_of(r);
  {
    const std::lock_guard lock(known.mutex);
    if (const auto* const found = known.all.find(words)) return *found;
  }
  auto made = lower(r, by);
  if (!made) return std::move(made).error();
  auto kept = std::make_shared<const lowered_graph>(*std::move(made));
  const std::lock_guard lock(known.mutex);
  if (const auto* const found = known.all.find(words)) return *found;
  return known.all.add(words, std::move(kept));
}

}  // namespace troupe::dnn
